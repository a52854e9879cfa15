#include "examples/resnet/dataset.h"

#include "train/image.h"
#include "train/image_folder.h"
#include "train/vision.h"

namespace halyard::examples::resnet {

namespace ds = dataset;
namespace C = dataset::vision;
namespace C2 = dataset::transforms;

ds::Dataset create_dataset(const std::string &dataset_path, int64_t batch_size, int64_t rank_size, int64_t rank_id, bool do_train, int64_t image_size) {
    ds::Dataset data_set = ds::ImageFolderDataset(dataset_path, {.shuffle = do_train, .num_shards = rank_size, .shard_id = rank_id});
    const std::vector<double> mean = {0.485 * 255, 0.456 * 255, 0.406 * 255};
    const std::vector<double> std = {0.229 * 255, 0.224 * 255, 0.225 * 255};

    // define map operations
    const std::vector<ds::Transform> trans = {C::Decode(), C::Resize(image_size * 256 / 224), C::CenterCrop(image_size), C::Normalize(mean, std), C::HWC2CHW()};
    const auto type_cast_op = C2::TypeCast(DType::i32);

    // call data operations by map
    data_set = data_set.map(trans, "image", {}, {.num_parallel_workers = 8});
    data_set = data_set.map(type_cast_op, "label", {}, {.num_parallel_workers = 8});

    // apply batch operations
    return data_set.batch(batch_size, /*drop_remainder=*/do_train);
}

}  // namespace halyard::examples::resnet
