import { createHash } from 'node:crypto';
import { type Corpus, parseCorpus } from '../../../core/dataset/corpus.ts';
import type { ResolvedRecipe } from '../../../core/recipe/resolvedRecipe.ts';
import { readDataFile } from '../../../runs/openDataset.ts';

/** Files that stages imitate, before anything is known of a vocabulary; each by the number of its stage. */
export interface ImitationFiles {
	readonly corpora: ReadonlyMap<number, Corpus>;
	/** Texts whose characters the vocabulary of a new model must hold. */
	readonly texts: readonly string[];
	/** SHA-256 of the files; null: the recipe names none. */
	readonly hash: string | null;
}

/** Reads the files of a recipe's stages. Throws `missing` and `invalid` (naming file and line) before any work. */
export async function openImitationFiles({ stages }: ResolvedRecipe): Promise<ImitationFiles> {
	const corpora = new Map<number, Corpus>();
	const texts: string[] = [];
	const hash = createHash('sha256');
	for (const [index, stage] of stages.entries()) {
		if (stage.type !== 'pretrain' || stage.corpus === null) continue;
		const content = await readDataFile(stage.corpus.path);
		hash.update(content).update('\0');
		const corpus = parseCorpus(content, stage.corpus);
		corpora.set(index, corpus);
		for (const text of corpus.training) texts.push(text);
		for (const text of corpus.heldOut) texts.push(text);
	}
	return { corpora, texts, hash: corpora.size === 0 ? null : hash.digest('hex') };
}
