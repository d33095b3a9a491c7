import { createHash } from 'node:crypto';
import { lstat } from 'node:fs/promises';
import { isAbsolute } from 'node:path';
import { canonicalJson, mapTexts } from '../../core/pipeline/canonicalJson.ts';
import type { ResolvedRecipe } from '../../core/recipe/resolvedRecipe.ts';
import { hashPath } from './artifactHash.ts';

/** Known SHA-256 hashes of artifacts, keyed by absolute path. */
export type KnownHashes = ReadonlyMap<string, string>;

/** Removes settings that only affect speed or naming. */
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
 * Returns the SHA-256 hash of a stage's computation: its settings as canonical JSON, with every path replaced by the
 * SHA-256 of its content. Two stages with the same hash compute the same result.
 * @param recipe recipe that lists its reward file copies; without stages if the pipeline runner runs the stage
 * @param own settings of a stage that the pipeline runner runs itself
 */
export async function inputHash(recipe: ResolvedRecipe, own: unknown, known: KnownHashes): Promise<string> {
	const content = await mapTexts([decisive(recipe), own], async (text) => {
		if (!isAbsolute(text)) return text;
		const sha = known.get(text);
		if (sha !== undefined) return `sha256:${sha}`;
		// Not every string that starts with a slash is a path.
		if ((await lstat(text).catch(() => null)) === null) return text;
		return `sha256:${(await hashPath(text)).sha256}`;
	});
	return createHash('sha256').update(canonicalJson(content)).digest('hex');
}
