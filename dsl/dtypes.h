// Sets of dtypes that several ops have, for op files.
#pragma once
#include "registry/op/dtypes.h"
