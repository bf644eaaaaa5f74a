import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { bracketMatching, HighlightStyle, StreamLanguage, syntaxHighlighting } from "@codemirror/language";
import { toml } from "@codemirror/legacy-modes/mode/toml";
import { forceLinting, linter, lintGutter, type Diagnostic as Mark } from "@codemirror/lint";
import { EditorState, StateEffect } from "@codemirror/state";
import { drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import type { Diagnostic, Verdict } from "../data/source";
import type { SchemaCompletion } from "./completion";

const LOOK = EditorView.theme({
  "&": { height: "100%", fontSize: "13.5px", color: "var(--ink)", backgroundColor: "var(--panel)" },
  ".cm-scroller": {
    fontFamily: "ui-monospace, 'SF Mono', Menlo, Consolas, 'DejaVu Sans Mono', monospace",
    lineHeight: "1.55",
  },
  ".cm-gutters": { backgroundColor: "var(--panel)", color: "var(--muted)", border: "none" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "var(--soft)" },
  ".cm-cursor": { borderLeftColor: "var(--ink)" },
  "&.cm-focused": { outline: "none" },
  ".cm-selectionBackground, &.cm-focused .cm-selectionBackground": { backgroundColor: "var(--choice) !important" },
  ".cm-tooltip": {
    backgroundColor: "var(--raised)",
    color: "var(--ink)",
    border: "1px solid var(--rule)",
    borderRadius: "6px",
  },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { backgroundColor: "var(--accent)", color: "var(--accent-ink)" },
  ".cm-completionInfo": { maxWidth: "22rem", padding: "6px 9px" },
  ".cm-diagnostic": { padding: "4px 9px" },
});

const COLOURS = HighlightStyle.define([
  { tag: tags.comment, color: "var(--muted)", fontStyle: "italic" },
  { tag: tags.string, color: "var(--code-text)" },
  { tag: [tags.number, tags.bool, tags.atom], color: "var(--code-number)" },
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "var(--code-key)" },
]);

const again = StateEffect.define<null>();

export interface Editing {
  view: EditorView;
  text: () => string;
  replace: (text: string) => void;
  /** Asks the engine again. */
  recheck: () => void;
}

/** The editor of a scenario: keys and values from the schema, problems from the engine where they stand. */
export function scenarioEditor(
  text: string,
  completion: SchemaCompletion,
  check: (text: string) => Promise<Verdict>,
  changed: (text: string) => void,
  checked: (verdict: Verdict) => void,
): Editing {
  const lint = linter(
    async (view) => {
      const verdict = await check(view.state.doc.toString());
      checked(verdict);
      return verdict.diagnostics.map((one) => markOf(one, view.state));
    },
    {
      delay: 300,
      needsRefresh: (update) => update.transactions.some((one) => one.effects.some((effect) => effect.is(again))),
    },
  );
  const view = new EditorView({
    state: EditorState.create({
      doc: text,
      extensions: [
        lineNumbers(),
        lintGutter(),
        history(),
        drawSelection(),
        highlightActiveLine(),
        bracketMatching(),
        closeBrackets(),
        StreamLanguage.define(toml),
        syntaxHighlighting(COLOURS),
        LOOK,
        EditorView.lineWrapping,
        lint,
        autocompletion({ override: [completion.source], icons: false }),
        // Tab leaves the editor, so that the keyboard reaches everything; Ctrl-Space completes.
        keymap.of([...closeBracketsKeymap, ...completionKeymap, ...defaultKeymap, ...historyKeymap]),
        EditorView.contentAttributes.of({ "aria-label": "Scenario (TOML)", tabindex: "0" }),
        EditorView.updateListener.of((update) => {
          if (update.docChanged) changed(update.state.doc.toString());
        }),
      ],
    }),
  });
  return {
    view,
    text: () => view.state.doc.toString(),
    // The linter looks again only at a text that has changed.
    recheck: () => {
      view.dispatch({ effects: again.of(null) });
      forceLinting(view);
    },
    replace: (next) => view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: next } }),
  };
}

/** From the place of a problem to the end of the word or text there. */
function markOf(problem: Diagnostic, state: EditorState): Mark {
  const line = state.doc.line(Math.min(Math.max(1, problem.line ?? 1), state.doc.lines));
  const from = Math.min(line.to, line.from + Math.max(0, (problem.column ?? 1) - 1));
  const rest = state.sliceDoc(from, line.to);
  const length = /^("[^"]*"|'[^']*'|\[\[?[^\]]*\]\]?|[\w.-]+)/.exec(rest)?.[0].length ?? Math.min(1, rest.length);
  return {
    from,
    to: from + length,
    severity: "error",
    message: problem.help ? `${problem.message}\n${problem.help}` : problem.message,
  };
}
