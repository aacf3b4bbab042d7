#include "tools/cli/terminal.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <zlib.h>

namespace memwall::cli {
namespace {

namespace fs = std::filesystem;

std::string compressed(std::string_view text, std::string& error) {
    // 15 + 16: the largest window, with a gzip header.
    z_stream stream{};
    if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) !=
        Z_OK) {
        error = "cannot start compression";
        return {};
    }
    std::string out;
    std::string chunk(std::size_t{1} << 16, '\0');
    std::string in(text);
    stream.next_in = reinterpret_cast<Bytef*>(in.data());
    stream.avail_in = static_cast<uInt>(in.size());
    int status = Z_OK;
    while (status == Z_OK) {
        stream.next_out = reinterpret_cast<Bytef*>(chunk.data());
        stream.avail_out = static_cast<uInt>(chunk.size());
        status = deflate(&stream, Z_FINISH);
        out.append(chunk, 0, chunk.size() - stream.avail_out);
    }
    deflateEnd(&stream);
    if (status != Z_STREAM_END) {
        error = "compression failed";
    }
    return out;
}

}  // namespace

TextStyle style_for(int file_descriptor, std::string_view color) {
    TextStyle style;
    const bool terminal = isatty(file_descriptor) == 1;
    const char* no_color = std::getenv("NO_COLOR");
    const bool refused = no_color != nullptr && *no_color != '\0';
    style.color = color == "always" || (color != "never" && terminal && !refused);
    winsize size{};
    if (terminal && ioctl(file_descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
        style.width = std::clamp(static_cast<int>(size.ws_col), 60, 160);
    }
    return style;
}

std::vector<std::string> data_roots(const std::vector<std::string>& given) {
    std::vector<std::string> roots = given;
    if (const char* from_environment = std::getenv("MEMWALL_DATA");
        from_environment != nullptr && *from_environment != '\0') {
        roots.emplace_back(from_environment);
    }
    std::error_code ignored;
    if (fs::exists(fs::path(MEMWALL_SOURCE_DIR) / "topologies", ignored)) {
        roots.emplace_back(MEMWALL_SOURCE_DIR);
    }
    const fs::path program = fs::read_symlink("/proc/self/exe", ignored);
    const fs::path installed = program.parent_path().parent_path() / "share" / "memwall";
    if (!program.empty() && fs::exists(installed / "topologies", ignored)) {
        roots.push_back(installed.string());
    }
    return roots;
}

std::string read_standard_input() {
    std::ostringstream all;
    all << std::cin.rdbuf();
    return all.str();
}

std::string write_file(const std::string& path, std::string_view text) {
    std::string error;
    const std::string packed = path.ends_with(".gz") ? compressed(text, error) : std::string();
    const std::string_view content = path.ends_with(".gz") ? std::string_view(packed) : text;
    if (!error.empty()) {
        return error;
    }
    const std::string beside = fmt::format("{}.{}.part", path, getpid());
    {
        std::ofstream out(beside, std::ios::binary);
        out.write(content.data(), static_cast<std::streamsize>(content.size()));
        out.flush();
        if (!out) {
            error = fmt::format("cannot write {}: {}", path, std::strerror(errno));
        }
    }
    std::error_code renamed;
    if (error.empty()) {
        fs::rename(beside, path, renamed);
        error = renamed ? fmt::format("cannot write {}: {}", path, renamed.message()) : "";
    }
    if (!error.empty()) {
        std::error_code ignored;
        fs::remove(beside, ignored);
    }
    return error;
}

void print(std::string_view text) {
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
}

void print_error(std::string_view text) {
    std::fwrite(text.data(), 1, text.size(), stderr);
}

}  // namespace memwall::cli
