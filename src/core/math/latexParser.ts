import type { LatexSyntax } from '@cortex-js/compute-engine/latex-syntax';

/** Parser output: MathJSON, which is a number, a name, or a list that starts with an operator name. */
export type MathJson = number | string | readonly MathJson[] | { readonly [key: string]: unknown };

let library: typeof import('@cortex-js/compute-engine/latex-syntax') | null = null;
let syntax: LatexSyntax | null = null;

/**
 * Loads the LaTeX parser and parses one expression to build its tables, which takes about 60 ms once per process. Await
 * this before any comparison beyond plain numbers.
 */
export async function loadLatexParser(): Promise<void> {
	library ??= await import('@cortex-js/compute-engine/latex-syntax');
	if (syntax === null) resetLatexParser();
}

/** Creates a new parser, because an interrupted parser can be left with half-built tables. */
export function resetLatexParser(): void {
	if (library === null) return;
	syntax = new library.LatexSyntax();
	syntax.parse('\\frac{1}{2}x+\\sin 2x');
}

/** Parses LaTeX. Returns null if the text is not an expression. Throws if the parser has not been loaded. */
export function parseLatex(latex: string): MathJson | null {
	if (syntax === null) throw new Error('loadLatexParser has not been awaited');
	return syntax.parse(latex) as MathJson | null;
}
