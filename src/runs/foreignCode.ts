import { join } from 'node:path';
import { Failure } from '../base/failure.ts';
import { decodeResolvedRecipe } from '../core/recipe/resolve.ts';
import { sha256 } from '../files/sha256.ts';
import { runFiles } from './runFiles.ts';
import { readResolvedRecipe } from './runReader.ts';
import { RunRegistry } from './runRegistry.ts';

/*
 * A run or pipeline folder can come from someone else and contain programs and server addresses. The user's own
 * registry, never the folder, records whether this user has started the run or pipeline with them. If not, the user is
 * asked.
 */

/** Code and servers specified in a folder that an operation on the folder would use. */
export interface ForeignCode {
	readonly folder: string;
	/** Reward files, server addresses, a Ray cluster and packages for it; never empty. */
	readonly uses: readonly string[];
}

/** Asks the user for permission; resolves to false if it is denied. */
export type Agree = (code: ForeignCode) => Promise<boolean>;

/** What the code is needed for: only scoring rewards, or starting the run's engine. */
export type ForeignUse = 'rewards' | 'engine';

/** Recipe keys whose values are programs, packages or server addresses. */
const usedKeys = new Set(['file', 'url', 'baseUrl', 'address', 'server', 'package', 'pip']);

/** Returns what a recipe value contains under these keys, at any depth. */
function namedIn(value: unknown, key = ''): string[] {
	if (typeof value === 'string') return usedKeys.has(key) ? [value] : [];
	if (typeof value !== 'object' || value === null) return [];
	return Object.entries(value).flatMap(([name, inner]) => namedIn(inner, Array.isArray(value) ? key : name));
}

/**
 * Returns the programs and servers in the recipe of a run or pipeline. A Ray job counts as a program, wherever its
 * cluster is.
 */
export function usesOf(recipe: unknown): string[] {
	const { engine } = recipe as { readonly engine?: unknown };
	return [...new Set([...namedIn(recipe), ...(engine === 'ray' ? ['a Ray cluster'] : [])])];
}

/** Hashes the entire recipe, so that the user is asked again if anything is added later. */
export function startMark(recipe: unknown): string {
	return sha256(JSON.stringify(recipe));
}

/**
 * Returns the code and servers that a run would use, or null if there are none or this user has started the run with
 * them. Fails if the recipe cannot be read.
 */
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

/** Fails with `denied` unless this user has started the run with its current code or agrees to it. */
export async function requireOwnRun(run: string, use: ForeignUse, agree: Agree | undefined): Promise<void> {
	const code = await foreignCodeOf(run, use);
	if (code !== null) await requireAgreed(code, agree);
}

/** @throws `denied` if there is no way to ask, `cancelled` if the user declines */
export async function requireAgreed(code: ForeignCode, agree: Agree | undefined): Promise<void> {
	if (agree === undefined) throw new Failure('denied', foreignCodeWords(code), 'Review them first.');
	if (await agree(code)) return;
	throw new Failure('cancelled', `The code in ${code.folder} was not run.`);
}

/** Returns the sentence used both to ask for permission and to deny it. */
export function foreignCodeWords({ folder, uses }: ForeignCode): string {
	const shown = uses.length > 8 ? [...uses.slice(0, 8), `${uses.length - 8} more`] : uses;
	return `You have not started ${folder} on this machine, or its recipe has changed since then. Continuing will use ${shown.join(', ')}.`;
}

/** Records that this user started the run with its current recipe. */
export async function markStarted(run: string, registry = new RunRegistry()): Promise<void> {
	await registry.add(run, undefined, startMark(await readResolvedRecipe(run)));
}
