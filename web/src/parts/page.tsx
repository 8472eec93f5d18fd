/**
 * One page: its heading, which has the focus when one comes there from another, and what can be done on it.
 */

import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { printable } from '../../../src/text/index.ts';
import { to } from '../place.ts';

interface PageProps {
  /** Also the window's title. A name in it is shown harmless. */
  readonly title: string;
  /** In place of the title, where it is more than words. */
  readonly heading?: ComponentChildren;
  /** The pages above. */
  readonly trail?: ComponentChildren;
  /** The section of the help that is about this page. */
  readonly help?: string;
  /** Buttons beside the heading. */
  readonly actions?: ComponentChildren;
  readonly children: ComponentChildren;
}

/** The first page of a visit takes no focus: who came reads from the top. */
let isFirst = true;

export function Page({ title, heading, trail, help, actions, children }: PageProps) {
  const at = useRef<HTMLHeadingElement>(null);
  useLayoutEffect(() => {
    document.title = `${printable(title)} · softquota`;
  }, [title]);
  useLayoutEffect(() => {
    if (!isFirst) at.current?.focus({ preventScroll: true });
    isFirst = false;
  }, []);
  return (
    <>
      <div class="page-head">
        {trail !== undefined && <div class="trail">{trail}</div>}
        <h1 ref={at} tabIndex={-1}>
          {heading ?? printable(title)}
        </h1>
        <div class="row">
          {actions}
          {help !== undefined && <a href={`${to('help')}#${help}`}>Help</a>}
        </div>
      </div>
      <div class="stack">{children}</div>
    </>
  );
}

interface PanelProps {
  readonly title: string;
  /** Beside the title. */
  readonly actions?: ComponentChildren;
  readonly children: ComponentChildren;
}

/** A part of a page with a heading of its own. */
export function Panel({ title, actions, children }: PanelProps) {
  return (
    <section class="panel">
      <div class="panel-head">
        <h2>{title}</h2>
        {actions}
      </div>
      <div class="stack">{children}</div>
    </section>
  );
}
