// Writes src/generated/scenario.ts, the types of a scenario, from the schema that Rust generates.

import { writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { compileFromFile } from "json-schema-to-typescript";

const web = join(dirname(fileURLToPath(import.meta.url)), "..");
const schema = join(web, "..", "schema", "scenario.schema.json");
const types = await compileFromFile(schema, {
  bannerComment: "// Written by web/tools/types.mjs from schema/scenario.schema.json. Not kept in git.",
  additionalProperties: false,
  format: false,
});
await writeFile(join(web, "src", "generated", "scenario.ts"), types);
