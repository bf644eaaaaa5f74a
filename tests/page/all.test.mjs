// Every test of the page in one process: they share a Chromium, a server and the runs, which cost more than most tests.

import { after } from "node:test";
import { close } from "./stage.mjs";
import "./page.mjs";
import "./workspace.mjs";
import "./moments.mjs";
import "./compare.mjs";
import "./numbers.mjs";
import "./sources.mjs";
import "./access.mjs";

after(close);
