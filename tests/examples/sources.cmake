set(HALYARD_EXAMPLES_TESTS
  examples/data_test.cpp
  examples/guide_test.cpp
  examples/mobilenet_test.cpp
  examples/recipes_test.cpp
  examples/resnet_test.cpp)
