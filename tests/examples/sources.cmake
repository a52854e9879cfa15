set(HALYARD_EXAMPLES_TESTS
  examples/scenarios/data_test.cpp
  examples/scenarios/guide_test.cpp
  examples/mobilenet/mobilenet_v2_test.cpp
  examples/recipes_test.cpp
  examples/resnet/resnet_test.cpp)
