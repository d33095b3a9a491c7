import { join } from 'node:path';
import { Failure } from '../base/failure.ts';
import { decodeResolvedRecipe } from '../core/recipe/resolve.ts';
import { sha256 } from '../files/sha256.ts';
import { runFiles } from './runFiles.ts';
import { readResolvedRecipe } from './runReader.ts';
import { RunRegistry } from './runRegistry.ts';

/*
 * A run or pipeline folder may come from elsewhere, with programs and with names of servers in it. Whether this user has
 * started it with them is known from the user's own registry, never from the folder. What the user has not started is a
 * question to the person.
 */

/** What work on a folder would use that the folder brings along. */
export interface ForeignCode {
	readonly folder: string;
	/** Reward files, addresses of servers, a Ray cluster and packages for it; never empty. */
	readonly uses: readonly string[];
}

/** Asks the person; false: no. */
export type Agree = (code: ForeignCode) => Promise<boolean>;

/** What is about to be done: score rewards alone, or start the run's engine. */
export type ForeignUse = 'rewards' | 'engine';

/** Keys of a recipe whose texts are programs, packages, or addresses of servers. */
const usedKeys = new Set(['file', 'url', 'baseUrl', 'address', 'server', 'pip']);

/** What a value of a recipe names under these keys, at any depth. */
function namedIn(value: unknown, key = ''): string[] {
	if (typeof value === 'string') return usedKeys.has(key) ? [value] : [];
	if (typeof value !== 'object' || value === null) return [];
	return Object.entries(value).flatMap(([name, inner]) => namedIn(inner, Array.isArray(value) ? key : name));
}

/** Programs and servers that a recipe of a run or pipeline names. A Ray job is a program, wherever its cluster is. */
export function usesOf(recipe: unknown): string[] {
	const { engine } = recipe as { readonly engine?: unknown };
	return [...new Set([...namedIn(recipe), ...(engine === 'ray' ? ['a Ray cluster'] : [])])];
}

/** Depends on the whole recipe: what may be added to it later is then asked about, too. */
export function startMark(recipe: unknown): string {
	return sha256(JSON.stringify(recipe));
}

/** What a run would use that this user has not started it with; null: nothing. Fails as its recipe does. */
export async function foreignCodeOf(
	run: string,
	use: ForeignUse,
	registry = new RunRegistry(),
): Promise<ForeignCode | null> {
	const value = await readResolvedRecipe(run);
	const recipe = decodeResolvedRecipe(value, join(run, runFiles.recipe));
	const uses = usesOf(use === 'engine' ? recipe : { rewards: recipe.rewards });
	if (uses.length === 0 || (await registry.startedWith(run)) === startMark(value)) return null;
	return { folder: run, uses };
}

/** Fails with `denied` unless this user has started the run with the code that is in it now, or agrees to it. */
export async function requireOwnRun(run: string, use: ForeignUse, agree: Agree | undefined): Promise<void> {
	const code = await foreignCodeOf(run, use);
	if (code !== null) await requireAgreed(code, agree);
}

/** @throws `denied` without a way to ask, `cancelled` where the answer is no */
export async function requireAgreed(code: ForeignCode, agree: Agree | undefined): Promise<void> {
	if (agree === undefined) throw new Failure('denied', foreignCodeWords(code), 'Read them first.');
	if (await agree(code)) return;
	throw new Failure('cancelled', `The code of ${code.folder} was not run.`);
}

/** The sentence of the question and of the refusal. */
export function foreignCodeWords({ folder, uses }: ForeignCode): string {
	const shown = uses.length > 8 ? [...uses.slice(0, 8), `${uses.length - 8} more`] : uses;
	return `${folder} was not started by you on this machine, or its recipe has changed since. Continuing uses ${shown.join(', ')}.`;
}

/** Remembers that this user starts the run with the recipe that is in it now. */
export async function markStarted(run: string, registry = new RunRegistry()): Promise<void> {
	await registry.add(run, undefined, startMark(await readResolvedRecipe(run)));
}
