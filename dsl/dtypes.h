// Sets of dtypes that are common to several ops, for op files.
#pragma once
#include "registry/op/dtypes.h"
