#include "sim/io/files.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <system_error>

namespace memwall {
namespace fs = std::filesystem;

FileStatus DiskFiles::status(const std::string& path) {
    std::error_code failed;
    const fs::file_status status = fs::status(path, failed);
    switch (status.type()) {
    case fs::file_type::not_found:
        return FileStatus::Missing;
    case fs::file_type::regular:
        return FileStatus::Ok;
    case fs::file_type::directory:
        return FileStatus::Directory;
    case fs::file_type::none:
    case fs::file_type::unknown:
        return FileStatus::Unreadable;
    case fs::file_type::symlink:
    case fs::file_type::block:
    case fs::file_type::character:
    case fs::file_type::fifo:
    case fs::file_type::socket:
        return FileStatus::NotRegular;
    }
    return FileStatus::Unreadable;
}

FileContent DiskFiles::read(const std::string& path, std::size_t bytes_max) {
    FileContent content;
    content.status = status(path);
    if (content.status != FileStatus::Ok) {
        return content;
    }
    std::error_code failed;
    const auto size = fs::file_size(path, failed);
    if (failed) {
        content.status = FileStatus::Unreadable;
        return content;
    }
    if (size > bytes_max) {
        content.status = FileStatus::TooLarge;
        return content;
    }
    std::ifstream stream(path, std::ios::binary);
    content.text.resize(static_cast<std::size_t>(size));
    stream.read(content.text.data(), static_cast<std::streamsize>(size));
    if (stream.bad() || !stream.is_open()) {
        content.status = FileStatus::Unreadable;
        content.text.clear();
        return content;
    }
    content.text.resize(static_cast<std::size_t>(stream.gcount()));
    return content;
}

std::vector<std::string> DiskFiles::list(const std::string& directory) {
    std::vector<std::string> names;
    std::error_code failed;
    for (fs::directory_iterator it(directory, failed), end; !failed && it != end;
         it.increment(failed)) {
        names.push_back(it->path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
}

FileStatus MemoryFiles::status(const std::string& path) {
    if (texts.contains(path)) {
        return FileStatus::Ok;
    }
    const auto below = texts.lower_bound(path + "/");
    return below != texts.end() && below->first.starts_with(path + "/") ? FileStatus::Directory
                                                                        : FileStatus::Missing;
}

FileContent MemoryFiles::read(const std::string& path, std::size_t bytes_max) {
    FileContent content;
    content.status = status(path);
    if (content.status == FileStatus::Ok) {
        content.text = texts.at(path);
        if (content.text.size() > bytes_max) {
            content = {FileStatus::TooLarge, {}};
        }
    }
    return content;
}

std::vector<std::string> MemoryFiles::list(const std::string& directory) {
    const std::string prefix = directory.empty() ? "" : directory + "/";
    std::set<std::string> names;
    for (const auto& [path, text] : texts) {
        if (path.starts_with(prefix)) {
            names.insert(path.substr(prefix.size(), path.find('/', prefix.size()) - prefix.size()));
        }
    }
    return {names.begin(), names.end()};
}

}  // namespace memwall
