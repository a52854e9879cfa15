"""A recording stand-in for TIK: it takes the calls of an emitted kernel, checks their arity, and writes the program.

Own code, from the public descriptions of the signatures. `Tik().text` is a .dv program without flags and addresses: what TIK inserts
and chooses itself. Integer expressions are kept as text; float registers as the instruction that computes them.
"""
import builtins

scope_gm, scope_ubuf, scope_cbuf, scope_ca, scope_cb, scope_cc = "gm", "ubuf", "l1", "l0a", "l0b", "l0c"

TYPES = {"float16": "f16", "float32": "f32", "bfloat16": "bf16", "int32": "i32", "int64": "i64", "int8": "i8", "uint8": "u8"}

BINARY = "mask dst src0 src1 repeat_times dst_rep_stride src0_rep_stride src1_rep_stride"
UNARY = "mask dst src repeat_times dst_rep_stride src_rep_stride"
NUMBER = "mask dst src scalar repeat_times dst_rep_stride src_rep_stride"
OLD_BINARY = "mask dst src0 src1 repeat_times dst_blk_stride src0_blk_stride src1_blk_stride dst_rep_stride src0_rep_stride src1_rep_stride"
OLD_UNARY = "mask dst src repeat_times dst_blk_stride src_blk_stride dst_rep_stride src_rep_stride"
OLD_NUMBER = "mask dst src scalar repeat_times dst_blk_stride src_blk_stride dst_rep_stride src_rep_stride"
REDUCE = "mask dst src repeat_times dst_rep_stride src_blk_stride src_rep_stride"
COMPARE = "dst src0 src1 repeat_times src0_rep_stride src1_rep_stride"
OLD_COMPARE = "dst src0 src1 repeat_times src0_blk_stride src1_blk_stride src0_rep_stride src1_rep_stride"

# The parameters of each call; those after | are optional.
SIGNATURES = {
    "vec_dup": "mask dst scalar repeat_times dst_rep_stride",
    "vector_dup": "mask dst scalar repeat_times dst_blk_stride dst_rep_stride",
    "vec_conv": "mask round_mode dst src repeat_times dst_rep_stride src_rep_stride | deqscale",
    "vec_sel": "mask mode dst sel src0 src1 repeat_times dst_rep_stride src0_rep_stride src1_rep_stride",
    "vconv": "mask round_mode dst src repeat_times dst_blk_stride src_blk_stride dst_rep_stride src_rep_stride | deqscale",
    "vsel": "mask mode dst sel src0 src1 repeat_times dst_blk_stride src0_blk_stride src1_blk_stride dst_rep_stride src0_rep_stride src1_rep_stride",
    "vec_trans": "dst src repeat_times dst_rep_stride src_rep_stride",
    "data_move": "dst src sid nburst burst src_stride dst_stride",
    "data_move_pad": "dst src nburst burst dst_gap src_gap",
    "scalar_min": "dst src0 src1",
    "scalar_max": "dst src0 src1",
    "scalar_sqrt": "dst src",
    "scalar_conv": "round_mode dst src",
    "set_atomic_add": "kind",
    "load2dv1": "dst src index repeat_times src_stride sid | if_transpose",
    "load3dv1": "dst src pad_list l1_h l1_w c1_index fetch_filter_w fetch_filter_h left_top_w left_top_h stride_w stride_h filter_w filter_h "
                "dilation_filter_w dilation_filter_h jump_offset repeat_mode repeat_time",
    "mmad": "dst fm filter m k n is_bias",
    "tensor_mov": "dst src block_mode nburst burst dst_stride src_stride | relu",
}
for name in ("add", "sub", "mul", "max", "min", "and", "or"):
    SIGNATURES["vec_" + name], SIGNATURES["v" + name] = BINARY, OLD_BINARY
for name in ("div", "mla"):
    SIGNATURES["v" + name] = OLD_BINARY
for name in ("relu", "exp", "ln", "abs", "rec", "rsqrt", "not"):
    SIGNATURES["vec_" + name], SIGNATURES["v" + name] = UNARY, OLD_UNARY
SIGNATURES["vsqrt"] = OLD_UNARY
for name in ("adds", "muls", "axpy"):
    SIGNATURES["vec_" + name], SIGNATURES["v" + name] = NUMBER, OLD_NUMBER
for name in ("vcadd", "vcmax", "vcmin", "vcgadd", "vcgmax", "vcgmin"):
    SIGNATURES[name] = REDUCE
for name in ("lt", "gt", "ge", "eq", "ne", "le"):
    SIGNATURES["vec_cmpv_" + name], SIGNATURES["vcmpv_" + name] = COMPARE, OLD_COMPARE


class Expr:
    """An integer expression, as text."""

    def __init__(self, text):
        self.text = str(text)

    def __str__(self):
        return self.text


def binary(sign, swapped=False):
    def apply(self, other):
        a, b = (other, self) if swapped else (self, other)
        return Expr(f"({a} {sign} {b})")
    return apply


for method, sign in (("add", "+"), ("sub", "-"), ("mul", "*"), ("floordiv", "/"), ("mod", "%")):
    setattr(Expr, f"__{method}__", binary(sign))
    setattr(Expr, f"__r{method}__", binary(sign, swapped=True))
for method, sign in (("lt", "<"), ("le", "<="), ("eq", "=="), ("ne", "!=")):
    setattr(Expr, f"__{method}__", binary(sign))
for method, sign in (("gt", "<"), ("ge", "<=")):  # Python evaluates 1 <= x as x >= 1
    setattr(Expr, f"__{method}__", binary(sign, swapped=True))


def all(a, b):  # noqa: A001, TIK's name
    return Expr(f"({a} && {b})")


def any(a, b):  # noqa: A001
    return Expr(f"({a} || {b})")


class Math:
    """The expression `a op b` of float registers, which is assigned to a register later."""

    def __init__(self, op, a, b):
        self.op, self.a, self.b = op, a, b


class Scalar(Expr):
    def __init__(self, tik, dtype, name, parameter=False):
        super().__init__(name)
        self.tik, self.dtype, self.parameter = tik, TYPES[dtype], parameter

    def is_float(self):
        return self.dtype in ("f16", "f32", "bf16")

    def set_as(self, value):
        if isinstance(value, Place):
            self.tik.line(f"scalar_load {self}, {value}")
        elif isinstance(value, Math):
            self.tik.scalar(self, value.op, value.a, value.b)
        elif self.is_float():
            self.tik.scalar(self, "move", value, 0)
        else:
            self.tik.line(f"set {self}, {value}")


def float_math(op, swapped, plain):
    def apply(self, other):
        if not self.is_float():
            return plain(self, other)
        a, b = (other, self) if swapped else (self, other)
        return Math("neg", b, 0) if op == "sub" and a == 0.0 and not isinstance(a, Expr) else Math(op, a, b)
    return apply


for method, op in (("add", "add"), ("sub", "sub"), ("mul", "mul"), ("truediv", "div")):
    plain = getattr(Expr, f"__{method}__", None), getattr(Expr, f"__r{method}__", None)
    setattr(Scalar, f"__{method}__", float_math(op, False, plain[0]))
    setattr(Scalar, f"__r{method}__", float_math(op, True, plain[1]))


class Place:
    """The part of a tensor from an element on."""

    def __init__(self, tensor, offset, dtype):
        self.tensor, self.offset, self.dtype = tensor, offset, dtype

    def __getitem__(self, index):
        return Place(self.tensor, Expr(f"({self.offset} + {index})"), self.dtype)

    def reinterpret_cast_to(self, dtype):
        return Place(self.tensor, self.offset, TYPES[dtype])

    def set_as(self, value):
        self.tensor.tik.line(f"scalar_store {self}, {value}")

    def __str__(self):
        t = self.tensor
        return t.name + ("" if self.dtype == t.dtype else ":" + self.dtype) + ("{" + t.slot + "}" if t.slot else "") + f"[{self.offset}]"


class Tensor(Place):
    def __init__(self, tik, dtype, shape, scope, name, is_workspace, slots, slot):
        super().__init__(self, 0, TYPES[dtype])
        self.tik, self.shape, self.scope, self.name, self.is_workspace, self.slots, self.slot = tik, shape, scope, name, is_workspace, slots, slot


class Block:
    """The body of a with statement."""

    def __init__(self, tik, var, head, thread_num=1):
        self.tik, self.var, self.head, self.thread_num = tik, var, head, thread_num

    def __enter__(self):
        if self.head:
            self.tik.line(self.head + " {")
        self.tik.open.append(self)
        return Expr(self.var)

    def __exit__(self, *error):
        self.tik.open.pop()
        if self.head:
            self.tik.line("}")


class Tik:
    def __init__(self, profiling=None, disable_debug=True, err_msg_level=0):
        self.lines, self.tensors, self.scalars, self.open, self.blocks, self.text, self.atomic = [], [], [], [], 1, None, 0

    def line(self, text):
        self.lines.append(text)

    def Tensor(self, dtype, shape, scope, name, is_workspace=False, is_atomic_add=False):
        threaded = [b for b in self.open if b.thread_num > 1] if scope != scope_gm else []
        slots, slot = (threaded[-1].thread_num, f"{threaded[-1].var} % {threaded[-1].thread_num}") if threaded else (1, "")
        t = Tensor(self, dtype, shape, scope, name, is_workspace, slots, slot)
        if scope == scope_gm:
            self.tensors.append(t)
        else:
            self.line(f"alloc {scope} {name} {t.dtype}[{shape[0]}]" + (f" slots={slots}" if slots > 1 else ""))
        return t

    def Scalar(self, dtype, name, init_value=None):
        return Scalar(self, dtype, name)

    def InputScalar(self, dtype, name):
        self.scalars.append(Scalar(self, dtype, name, parameter=True))
        return self.scalars[-1]

    def for_range(self, begin, end, name="i", thread_num=1, block_num=1):
        if block_num == 1:
            return Block(self, name, f"for {name} in {begin}, {end}", thread_num)
        if self.open or str(begin) != "0" or str(end) != str(block_num) or thread_num != 1:
            raise ValueError("the block loop is the outermost, from 0 to block_num, with one thread")
        self.blocks = block_num
        return Block(self, name, "")

    def new_stmt_scope(self):
        return Block(self, "", "if 1")

    def if_scope(self, condition):
        return Block(self, "", f"if {condition}")

    def else_scope(self):
        if self.lines.pop() != "}":
            raise ValueError("an else_scope follows an if_scope")
        return Block(self, "", "} else")

    def scalar(self, to, op, a, b):
        self.line(f"scalar {to}, {a}, {b}  op={op} dtype={to.dtype}")

    def BuildCCE(self, kernel_name, inputs, outputs, config=None):
        uses = {(True, False): "in", (False, True): "out", (True, True): "inout", (False, False): "workspace"}
        head = [f"program {kernel_name.removeprefix('haly_')} PROFILE blocks={self.blocks}"]
        for t in self.tensors:
            if t.is_workspace != (not any_of(t, inputs) and not any_of(t, outputs)):
                raise ValueError(f"tensor {t.name} is neither an input nor an output nor a workspace")
            head.append(f"gm {t.name} {t.dtype}[{t.shape[0]}] {uses[any_of(t, inputs), any_of(t, outputs)]}")
        head += [f"scalar {s} {s.dtype}" for s in self.scalars]
        self.text = "\n".join(head + self.lines) + "\n"

    def __getattr__(self, name):
        if name not in SIGNATURES:
            raise AttributeError(f"TIK has no {name}")
        needed, _, more = SIGNATURES[name].partition(" | ")
        parameters, optional = needed.split(), more.split()

        def call(*args, **named):
            if not len(parameters) <= len(args) <= len(parameters) + len(optional):
                raise TypeError(f"{name} takes {len(parameters)} arguments ({needed}), got {len(args)}")
            if set(named) - set(optional):
                raise TypeError(f"{name} has no {', '.join(set(named) - set(optional))}")
            self.record(name, dict(zip(parameters + optional, args), **named))
        return call

    def load3d(self, dst, src, pad_list, l1_h, l1_w, c1_index, fetch_filter_w, fetch_filter_h, left_top_w, left_top_h, stride_w, stride_h, filter_w,
               filter_h, dilation_filter_w, dilation_filter_h, jump_offset, repeat_mode, repeat_time):
        """Sixteen rows of the matrix of windows, from the one whose window begins at left_top; `repeat_time` fractals of columns."""
        if (jump_offset, repeat_mode) != (1, 0):
            raise ValueError("only columns one after another are recorded")
        left, right, top, bottom = pad_list
        windows = f"((({l1_w}) + {left} + {right} - {dilation_filter_w} * {filter_w - 1} - 1) / {stride_w} + 1)"
        row = f"(({left_top_h}) + {top}) / {stride_h} * {windows} + (({left_top_w}) + {left}) / {stride_w}"
        column = f"((({c1_index}) * {filter_h} + ({fetch_filter_h})) * {filter_w} + ({fetch_filter_w}))"
        taps = filter_h * filter_w
        c0 = 32 if src.dtype in ("i8", "u8") else 16
        self.line(f"load3d {dst}, {src}  h={l1_h} w={l1_w} c1=({column} + ({repeat_time}) + {taps - 1}) / {taps} left={left} right={right} top={top} "
                  f"bottom={bottom} kernel={filter_h},{filter_w} stride={stride_h},{stride_w} dilation={dilation_filter_h},{dilation_filter_w} "
                  f"m_start={row} k_start={column} * {c0} m=16 k=({repeat_time}) * {c0}")

    def record(self, name, a):
        if name in ("scalar_min", "scalar_max"):
            if a["dst"].is_float():
                return self.scalar(a["dst"], name[7:], a["src0"], a["src1"])
            a["dst"].text = f"{name[7:]}({a['src0']}, {a['src1']})"
            return None
        if name == "scalar_sqrt":
            return self.scalar(a["dst"], "sqrt", a["src"], 0)
        if name == "scalar_conv":
            return self.line(f"scalar {a['dst']}, {a['src']}, 0  op=to_int")
        if name == "set_atomic_add":
            self.atomic = a["kind"]
            return None
        if name == "data_move":
            return self.line(f"data_move {a['dst']}, {a['src']}  nburst={a['nburst']} burst={a['burst']} src_gap={a['src_stride']} "
                             f"dst_gap={a['dst_stride']} atomic={self.atomic}")
        if name == "tensor_mov":
            if a["block_mode"] != "m" or (a["src"].tensor.scope, a["dst"].tensor.scope) != (scope_cc, scope_ubuf):
                raise ValueError("block mode m is of fractals, from L0C to the Unified Buffer")
            return self.line(f"l0c_to_ub {a['dst']}, {a['src']}  nburst={a['nburst']} burst={a['burst']} src_gap={a['src_stride']} dst_gap={a['dst_stride']} "
                             f"relu={int(a.get('relu', False))}")
        if name == "load2dv1":
            return self.line(f"load2d {a['dst']}, {a['src']}  repeat={a['repeat_times']} src_stride={a['src_stride']} transpose={int(a.get('if_transpose', False))}")
        if name == "load3dv1":
            return self.load3d(**a)
        if name == "mmad":
            return self.line(f"mmad {a['dst']}, {a['fm']}, {a['filter']}  m={a['m']} k={a['k']} n={a['n']} accumulate={a['is_bias']}")
        if name == "data_move_pad":
            return self.line(f"data_move_pad {a['dst']}, {a['src']}  nburst={a['nburst']} bytes={a['burst']} src_gap={a['src_gap']} dst_gap={a['dst_gap']}")
        placed = [str(a[k]) for k in ("dst", "sel", "src", "src0", "src1", "scalar") if k in a]
        fields = {}
        if "mask" in a:
            m = a["mask"]
            fields["mask"] = f"bits({m[0]:#x}, {m[1]:#x})" if isinstance(m, list) else m
        fields["repeat"] = a["repeat_times"]
        strides = {kind: [str(a[k + kind]) for k in ("dst", "src", "src0", "src1") if k + kind in a] for kind in ("_blk_stride", "_rep_stride")}
        if SIGNATURES[name] is REDUCE:
            fields.update(dst_rep=a["dst_rep_stride"], src_blk=a["src_blk_stride"], src_rep=a["src_rep_stride"])
            if name in ("vcmax", "vcmin"):
                fields["index"] = 1
        elif name == "vec_trans":
            fields.update(dst_rep=a["dst_rep_stride"], src_rep=a["src_rep_stride"])
        else:
            if strides["_blk_stride"]:
                fields["blk"] = ",".join(strides["_blk_stride"])
            fields["rep"] = ",".join(strides["_rep_stride"])
        if name in ("vec_conv", "vconv"):
            fields["round"] = a["round_mode"]
            if "deqscale" in a:
                fields["scale"] = a["deqscale"]
        if name in ("vec_sel", "vsel") and a["mode"] == 1:
            fields["rep"] = ",".join(strides["_rep_stride"][:2] + ["8"])
        if name == "vector_dup":
            name = "vec_dup"
        elif name in SIGNATURES and not name.startswith("vec_") and SIGNATURES[name] is not REDUCE:
            name = "vec_" + name[1:]
        self.line(f"{name} {', '.join(placed)}  " + " ".join(f"{k}={v}" for k, v in fields.items()))
        return None


def any_of(tensor, among):
    return builtins.any(tensor is t for t in among)
