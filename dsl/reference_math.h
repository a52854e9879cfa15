// Mathematics of references, for op files.
#pragma once
#include "registry/op/reference_math.h"
