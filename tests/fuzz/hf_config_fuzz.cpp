// Any bytes as a config.json: refused with an error, or turned into a model document that the field tables read.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "sim/io/hf_config.h"
#include "sim/spec/fields_work.h"
#include "sim/spec/read.h"
#include "sim/spec/resolve.h"

using namespace memwall;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    Diagnostics diagnostics;
    const std::string text(data, data + size);
    std::optional<DocNode> document = model_document_from_hf("config.json", text, diagnostics);
    if (!document) {
        if (!diagnostics.has_errors()) {
            std::abort();
        }
        return 0;
    }
    std::erase_if(document->entries, [](const DocEntry& entry) { return entry.key == "schema"; });
    Model model;
    if (read_document(*document, "this model", model, diagnostics)) {
        (void)complete_model(model, *document, diagnostics);
    }
    return 0;
}
