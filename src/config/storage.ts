/** The `[storage.*]` sections: templates made absolute, and what they cannot say together. */

import { resolve } from 'node:path';
import {
  isWithin,
  parseTemplate,
  type StorageKind,
  type StorageSettings,
  type Template,
  type Visibility,
} from '../layout/index.ts';
import type { Values } from './key.ts';
import { forgeKeys } from './keys-forge.ts';
import { scan, storages, visibility } from './keys-storage.ts';

/** The sections that have a PATH; `base` is the folder that relative templates count from. */
export function storageSettings(values: Values, base: string): readonly StorageSettings[] {
  const seen = new Map<string, string>();
  const beginnings = new Set<string>();
  const visible = visibilityIn(values);
  const walked = walkedDirectories(values, base);
  const sections = storages.flatMap(({ storage, templates: path, owner }) => {
    const source = values.take(owner);
    if (source.by === 'git-config' && storage !== 'repos' && storage !== 'wiki') {
      values.refuse(
        owner,
        'git-config is not possible here, but only in [storage.repos] and [storage.wiki].',
      );
    }
    if (source.by === 'forge' && !canForgeTell(values, storage)) {
      values.refuse(
        owner,
        'forge is possible only with [forge] KIND = gitlab, in [storage.repos] and [storage.wiki]; the paths of other forges say whose a repository is.',
      );
    }
    const templates: Template[] = [];
    for (const text of values.take(path)) {
      const parsed = parseTemplate(absoluteTemplate(text, base));
      if (!parsed.ok) {
        values.refuse(path, `"${text}" is not a template: ${parsed.reason}.`);
        continue;
      }
      const { template } = parsed;
      const twin = seen.get(template.text);
      if (twin !== undefined) {
        values.refuse(
          path,
          `"${template.text}" is already in [${twin}]. Each directory can be in one section only.`,
        );
      }
      if (!template.hasOwner && source.by === 'path' && !values.isFaulty(owner)) {
        const advice = 'Add {owner} to the path, or set OWNER';
        values.refuse(path, `"${text}" has no {owner}, and OWNER is path. ${advice}.`);
      }
      seen.set(template.text, `storage.${storage}`);
      templates.push(template);
    }
    if (templates.length === 0) return [];
    const elsewhere = templates.filter(({ fixed }) => walked?.some(root => isWithin(fixed, root)) === false);
    for (const { fixed } of templates) beginnings.add(fixed);
    const settings: StorageSettings = {
      kind: storage,
      templates: templates.map(template => template.text),
      owner: source,
      visibility: storage === 'repos' ? visible : 'export-ok',
      ...(elsewhere.length === 0 ? {} : { elsewhere: elsewhere.map(({ text }) => text) }),
    };
    return [settings];
  });
  for (const root of walked ?? []) {
    if ([...beginnings].some(fixed => isWithin(fixed, root))) continue;
    const known = beginnings.size === 0 ? 'none' : [...beginnings].join(', ');
    values.refuse(scan.roots, `no PATH begins in ${root}. The directories that they begin with: ${known}.`);
  }
  return sections;
}

/** The directories that this host walks; null: all. */
export function walkedDirectories(values: Values, base: string): readonly string[] | null {
  const roots = values.take(scan.roots);
  return roots?.map(root => resolve(base, root)) ?? null;
}

function canForgeTell(values: Values, storage: StorageKind): boolean {
  const isRepository = storage === 'repos' || storage === 'wiki';
  return isRepository && values.take(forgeKeys.kind) === 'gitlab';
}

/** With a forge its database tells, unless something else was written. */
function visibilityIn(values: Values): Visibility {
  const written = values.take(visibility);
  const hasForge = values.take(forgeKeys.kind) !== null;
  if (hasForge && !values.isGiven(visibility)) return 'forge';
  if (written === 'forge' && !hasForge) {
    values.refuse(visibility, 'forge needs [forge] KIND, which says whose database tells.');
  }
  return written;
}

/** Only the dots that a relative path begins with are folders; the rest stays for the template to judge. */
function absoluteTemplate(text: string, base: string): string {
  if (text.startsWith('/')) return text;
  const dots = /^(?:\.\.?(?:\/+|$))*/.exec(text)?.[0] ?? '';
  return `${resolve(base, dots)}/${text.slice(dots.length)}`;
}
