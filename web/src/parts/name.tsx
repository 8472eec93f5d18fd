/** Names that a stranger may have chosen: separated from the surrounding text and made harmless. */

import { type ComponentChildren, createContext } from 'preact';
import { useContext } from 'preact/hooks';
import { counted, printable } from '../../../src/text.ts';
import type { PageId } from '../../../src/wire/pages.ts';
import { forEverybody, to } from '../place.ts';

export function Name({ children }: { readonly children: string }) {
  const shown = printable(children);
  return <bdi class={hasShortWords(shown) ? 'whole' : undefined}>{shown}</bdi>;
}

/** Says that links open a new tab, so that a form in this one keeps its input. */
export const InNewTab = createContext(false);

interface NameLinkProps {
  readonly page: PageId;
  readonly children: string;
}

/** Says that an administrator reads, for links to pages that only they may see. */
export const Administrator = createContext(false);

/** Shows only the name to readers who may not see the page. */
export function NameLink({ page, children }: NameLinkProps) {
  const isLinked = useContext(Administrator) || forEverybody.has(page);
  const target = useContext(InNewTab) ? '_blank' : undefined;
  const name = <Name>{children}</Name>;
  return isLinked ? (
    <a href={to(page, children)} target={target}>
      {name}
    </a>
  ) : (
    name
  );
}

interface ListedProps {
  readonly of: readonly string[];
  readonly children: (text: string) => ComponentChildren;
}

/** Several entries, separated by commas. */
export function Listed({ of, children }: ListedProps) {
  return (
    <>
      {of.map((text, index) => (
        <span key={text}>
          {index > 0 && ', '}
          {children(text)}
        </span>
      ))}
    </>
  );
}

/** Several names with links to their pages; `none` if the list is empty. */
export function NameLinks({ page, names }: { readonly page: PageId; readonly names: readonly string[] }) {
  if (names.length === 0) return <span class="quiet-text">none</span>;
  return <Listed of={names}>{name => <NameLink page={page}>{name}</NameLink>}</Listed>;
}

/** The end of a shortened list: `and 3 others`. */
export function Others({ count }: { readonly count: number }) {
  return count > 0 ? <li class="quiet-text">and {counted(count, 'other', 'others')}</li> : null;
}

/** A path or another text in a monospaced font. */
export function Path({ children }: { readonly children: string }) {
  return (
    <code>
      <bdi>{printable(children)}</bdi>
    </code>
  );
}

/** Longest word that fits beside other columns of a table on a phone: `administrators`. */
const longestWord = 14;

/**
 * Returns true if all words are short. A word ends where every browser may break a line: `fifty-gigabytes` is
 * two, `2024-11-20` is one.
 */
function hasShortWords(text: string): boolean {
  return text.split(/ |(?<=[A-Za-z0-9]-)(?=[A-Za-z])/).every(word => word.length <= longestWord);
}
