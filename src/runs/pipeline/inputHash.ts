import { createHash } from 'node:crypto';
import { lstat } from 'node:fs/promises';
import { isAbsolute } from 'node:path';
import { canonicalJson, mapTexts } from '../../core/pipeline/canonicalJson.ts';
import type { ResolvedRecipe } from '../../core/recipe/resolvedRecipe.ts';
import { hashPath } from './artefactHash.ts';

/** SHA-256 of artefacts by their absolute paths, where they are known already. */
export type KnownHashes = ReadonlyMap<string, string>;

/** What only says how fast a run goes, or how it is called. */
function decisive({
	name: _,
	workers: __,
	sampleRows: ___,
	trainRows: ____,
	whenBusy: _____,
	...rest
}: ResolvedRecipe) {
	return rest;
}

/**
 * SHA-256 of what a stage computes: its settings as canonical JSON, with the SHA-256 of what is there in place of every
 * path. Two stages with one hash compute the same.
 * @param recipe with the copies of its reward files listed; of a stage of the runner without stages
 * @param own settings of a stage that the runner does itself
 */
export async function inputHash(recipe: ResolvedRecipe, own: unknown, known: KnownHashes): Promise<string> {
	const content = await mapTexts([decisive(recipe), own], async (text) => {
		if (!isAbsolute(text)) return text;
		const sha = known.get(text);
		if (sha !== undefined) return `sha256:${sha}`;
		// A text that begins with a slash is not always a path.
		if ((await lstat(text).catch(() => null)) === null) return text;
		return `sha256:${(await hashPath(text)).sha256}`;
	});
	return createHash('sha256').update(canonicalJson(content)).digest('hex');
}
