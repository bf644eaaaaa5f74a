// Fails where a line of the page or of its tests is longer than 120 columns.

import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const MOST = 120;
const root = join(dirname(fileURLToPath(import.meta.url)), "..", "..");
// The coasts are data, and `generated` is written by tools.
const LEFT_OUT = /(^|\/)(generated\/.*|data\/land\.ts)$/;

let found = 0;
for (const folder of ["web/src", "web/tools", "tests/page"]) {
  for (const name of readdirSync(join(root, folder), { recursive: true })) {
    const file = join(root, folder, name);
    if (!/\.(ts|mjs|css)$/.test(name) || LEFT_OUT.test(relative(root, file).replaceAll("\\", "/"))) continue;
    readFileSync(file, "utf8")
      .split("\n")
      .forEach((line, i) => {
        if ([...line].length <= MOST) return;
        found++;
        console.error(`${relative(root, file)}:${i + 1}: ${[...line].length} columns, at most ${MOST}`);
      });
  }
}
if (found > 0) process.exit(1);
