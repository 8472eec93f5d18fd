/**
 * How the web UI is built, into dist/web: files named after what is in them, none inline, with the licenses of what is
 * bundled; beside it, dist/swagger. `npx vite web` serves it as it is written, asking the daemon at SOFTQUOTA_URL.
 */

import { defineConfig, type Plugin } from 'vite';
import { compressed } from './compressed.ts';
import { swaggerUi } from './swagger-ui.ts';

export default defineConfig({
  root: import.meta.dirname,
  base: './',
  plugins: [compressed(), swaggerUi(), servedAtRoot()],
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir: '../dist/web',
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    license: { fileName: 'licenses.txt' },
    // How long plugins take says nothing to whoever starts softquota.
    rolldownOptions: { checks: { bundlerTimings: false } },
    target: 'es2023',
  },
  server: { proxy: { '/api': process.env.SOFTQUOTA_URL ?? 'http://127.0.0.1:3080' } },
});

/** Does what the daemon does to the page: tells where the app lies. */
function servedAtRoot(): Plugin {
  return {
    name: 'served-at-root',
    apply: 'serve',
    transformIndexHtml: () => [{ tag: 'base', attrs: { href: '/' }, injectTo: 'head-prepend' }],
  };
}
