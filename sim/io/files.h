#pragma once
// Where readers get the bytes of files from. The disk in the tool, a table of texts in tests and fuzz targets.
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace memwall {

enum class FileStatus : std::uint8_t { Ok, Missing, Directory, NotRegular, Unreadable, TooLarge };

struct FileContent {
    FileStatus status = FileStatus::Missing;
    std::string text;  // only when Ok
};

class Files {
  public:
    virtual ~Files() = default;
    [[nodiscard]] virtual FileContent read(const std::string& path, std::size_t bytes_max) = 0;
    // Names in a directory, sorted; empty when it is not there.
    [[nodiscard]] virtual std::vector<std::string> list(const std::string& directory) = 0;
    [[nodiscard]] virtual FileStatus status(const std::string& path) = 0;
};

class DiskFiles : public Files {
  public:
    FileContent read(const std::string& path, std::size_t bytes_max) override;
    std::vector<std::string> list(const std::string& directory) override;
    FileStatus status(const std::string& path) override;
};

class MemoryFiles : public Files {
  public:
    std::map<std::string, std::string> texts;  // by path, with '/' between folders

    FileContent read(const std::string& path, std::size_t bytes_max) override;
    std::vector<std::string> list(const std::string& directory) override;
    FileStatus status(const std::string& path) override;
};

}  // namespace memwall
