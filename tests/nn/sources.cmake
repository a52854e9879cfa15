set(HALYARD_NN_TESTS
  nn/cell_test.cpp
  nn/golden_test.cpp
  nn/initializer_test.cpp
  nn/learning_rate_test.cpp
  nn/optimizer_test.cpp
  nn/pytorch_test.cpp)
