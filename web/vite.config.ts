import { defineConfig, type Plugin } from "vite";

/**
 * The page is one classic script: browsers refuse module scripts from file://, and an exported run is opened as a
 * file as often as from a server.
 */
function classicScript(): Plugin {
  return {
    name: "classic-script",
    enforce: "post",
    transformIndexHtml: (html) =>
      html.replace(/<script type="module" crossorigin/g, "<script defer").replace(/ crossorigin/g, ""),
  };
}

export default defineConfig({
  base: "./",
  plugins: [classicScript()],
  server: { proxy: { "/api": "http://127.0.0.1:8641" } },
  build: {
    outDir: "../python/skyhop/page",
    emptyOutDir: true,
    target: "es2022",
    cssCodeSplit: false,
    modulePreload: false,
    chunkSizeWarningLimit: 2500,
    rollupOptions: {
      output: {
        format: "iife",
        entryFileNames: "page.js",
        assetFileNames: "page[extname]",
      },
    },
  },
});
