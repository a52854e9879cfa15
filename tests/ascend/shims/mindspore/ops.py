"""A recording stand-in for MindSpore's registration of custom operators: `registered` has the contents of an emitted file."""
registered = []


class DataType:
    pass


for t in ("F16", "F32", "I32", "I8", "U8", "BF16", "BOOL"):
    for layout in ("None", "Default", "5HD", "FracZ", "FracNZ"):
        setattr(DataType, f"{t}_{layout}", (t, layout))


class TBERegOp:
    FIELDS = {"fusion_type": 1, "async_flag": 1, "binfile_name": 1, "compute_cost": 1, "kernel_name": 1, "partial_flag": 1}

    def __init__(self, name):
        self.info = {"name": name, "inputs": [], "outputs": [], "attributes": [], "formats": []}

    def __getattr__(self, field):
        if field not in self.FIELDS:
            raise AttributeError(f"TBERegOp has no {field}")

        def set_field(value):
            self.info[field] = value
            return self
        return set_field

    def input(self, index, name, need_compile, param_type, shape):
        self.info["inputs"].append((index, name, need_compile, param_type, shape))
        return self

    def output(self, index, name, need_compile, param_type, shape):
        self.info["outputs"].append((index, name, need_compile, param_type, shape))
        return self

    def attr(self, name, param_type, value_type, value, default):
        self.info["attributes"].append((name, param_type, value_type, value, default))
        return self

    def dtype_format(self, *formats):
        if len(formats) != len(self.info["inputs"]) + len(self.info["outputs"]):
            raise ValueError("a format for each input and output")
        self.info["formats"].append(formats)
        return self

    def get_op_info(self):
        return self.info


def op_info_register(info):
    def register(entry):
        registered.append((info, entry))
        return entry
    return register
