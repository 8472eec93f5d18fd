/** The manual as a site, as `npm run docs` builds it. */

import { globSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { must } from '../e2e/run.ts';

const checkout = fileURLToPath(new URL('../..', import.meta.url));

/** The values of an attribute in a page. */
function valuesOf(page: string, attribute: string): readonly string[] {
  const values = page.matchAll(new RegExp(`\\s${attribute}="([^"]*)"`, 'g'));
  return [...values].map(([, value = '']) => value.replaceAll('&amp;', '&'));
}

t.test(
  'the site is built by one command, has every page of the manual, and no link of it is broken',
  async t => {
    const site = t.testdir();
    await must('npm', ['run', '--silent', 'docs', '--', '--outDir', site], {
      cwd: checkout,
      env: { HOME: site },
    });
    const files = new Set(globSync('**/*.*', { cwd: site }).map(name => join(site, name)));
    const pages = new Map(
      [...files].filter(file => file.endsWith('.html')).map(file => [file, readFileSync(file, 'utf8')]),
    );
    for (const page of globSync('docs/**/*.md', { cwd: checkout })) {
      t.ok(pages.has(join(site, page.replace(/\.md$/, '.html'))), page);
    }
    const headings = new Map([...pages].map(([file, text]) => [file, new Set(valuesOf(text, 'id'))]));
    const broken: string[] = [];
    for (const [file, text] of pages) {
      for (const link of new Set([...valuesOf(text, 'href'), ...valuesOf(text, 'src')])) {
        if (/^(https?|data|mailto):/.test(link)) continue;
        const [path = '', heading = ''] = decodeURIComponent(link).split('#');
        const target = pointsTo(path, file);
        const known = headings.get(target);
        if (!files.has(target) || (heading !== '' && known?.has(heading) === false)) {
          broken.push(`${file.slice(site.length)}: ${link}`);
        }
      }
    }
    t.strictSame(broken, []);

    const [index = ''] = globSync('assets/chunks/@localSearchIndex*.js', { cwd: site });
    t.ok(statSync(join(site, index)).size > 100_000, 'all of it can be searched');

    function pointsTo(path: string, from: string): string {
      if (path === '') return from;
      const target = path.startsWith('/') ? join(site, path) : resolve(dirname(from), path);
      return [target, `${target}.html`, join(target, 'index.html')].find(each => files.has(each)) ?? target;
    }
  },
);
