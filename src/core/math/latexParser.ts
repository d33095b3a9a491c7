import type { LatexSyntax } from '@cortex-js/compute-engine/latex-syntax';

/** What the library reads a text as: MathJSON, a number, a name, or a list that starts with an operator's name. */
export type MathJson = number | string | readonly MathJson[] | { readonly [key: string]: unknown };

let library: typeof import('@cortex-js/compute-engine/latex-syntax') | null = null;
let syntax: LatexSyntax | null = null;

/**
 * Loads the LaTeX parser and reads one expression, so that its tables exist: about 60 ms, once in a process. Whatever
 * compares more than plain numbers awaits this first.
 */
export async function loadLatexParser(): Promise<void> {
	library ??= await import('@cortex-js/compute-engine/latex-syntax');
	if (syntax === null) resetLatexParser();
}

/** A parser that was interrupted may be left with half-built tables: take a new one. */
export function resetLatexParser(): void {
	if (library === null) return;
	syntax = new library.LatexSyntax();
	syntax.parse('\\frac{1}{2}x+\\sin 2x');
}

/** null: no expression. Throws when the parser was not loaded. */
export function parseLatex(latex: string): MathJson | null {
	if (syntax === null) throw new Error('loadLatexParser has not been awaited');
	return syntax.parse(latex) as MathJson | null;
}
