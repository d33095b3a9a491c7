import { createHash } from 'node:crypto';
import { type CompletionRow, parseCompletionRows } from '../../../../core/dataset/completionRows.ts';
import { type Corpus, parseCorpus } from '../../../../core/dataset/corpus.ts';
import type { ResolvedRecipe } from '../../../../core/recipe/resolvedRecipe.ts';
import { checkpointFiles } from '../../../../protocol/checkpointState.ts';
import { readDataFile } from '../../../../runs/openDataset.ts';
import { readCheckpoint, type StoredCheckpoint } from '../checkpointFolder.ts';

/** Imitation data for each stage, by stage index, before the vocabulary is known. */
export interface ImitationFiles {
	readonly corpora: ReadonlyMap<number, Corpus>;
	readonly completions: ReadonlyMap<number, { readonly path: string; readonly rows: readonly CompletionRow[] }>;
	/** Files mixed into a stage's data. */
	readonly extra: ReadonlyMap<number, readonly (readonly CompletionRow[])[]>;
	readonly teachers: ReadonlyMap<number, StoredCheckpoint>;
	/** Text whose characters must be in a new model's vocabulary. */
	readonly texts: readonly string[];
	/** SHA-256 of the files, or null if the recipe does not use any. */
	readonly hash: string | null;
}

/**
 * Reads the files for a recipe's stages. Throws `missing`, `corrupt` or `invalid` (with file and line) before any work
 * is done.
 */
export async function openImitationFiles({ stages, template }: ResolvedRecipe): Promise<ImitationFiles> {
	const corpora = new Map<number, Corpus>();
	const completions = new Map<number, { path: string; rows: CompletionRow[] }>();
	const extra = new Map<number, CompletionRow[][]>();
	const teachers = new Map<number, StoredCheckpoint>();
	const texts: string[] = [];
	const hash = createHash('sha256');
	const read = async (path: string) => {
		const content = await readDataFile(path);
		hash.update(content).update('\0');
		return content;
	};
	for (const [index, stage] of stages.entries()) {
		if (stage.type === 'pretrain' && stage.corpus !== null) {
			const corpus = parseCorpus(await read(stage.corpus.path), stage.corpus);
			corpora.set(index, corpus);
			for (const text of corpus.training) texts.push(text);
			for (const text of corpus.heldOut) texts.push(text);
		}
		if ((stage.type === 'sft' || stage.type === 'distill') && stage.data !== null) {
			const { path } = stage.data;
			const rows = parseCompletionRows(await read(path), path, stage.data, template);
			completions.set(index, { path, rows });
			for (const { prompt, completion } of rows) texts.push(prompt, completion);
		}
		if (stage.type === 'rejection-sampling' && stage.extra.length > 0) {
			const mixed: CompletionRow[][] = [];
			for (const file of stage.extra) {
				mixed.push(parseCompletionRows(await read(file.path), file.path, file, template));
			}
			extra.set(index, mixed);
		}
		if (stage.type === 'distill' && stage.teacher !== null) {
			const teacher = await readCheckpoint(stage.teacher.path);
			hash.update(teacher.state.files[checkpointFiles.model]?.sha256 ?? '').update('\0');
			teachers.set(index, teacher);
		}
	}
	const none = corpora.size + completions.size + extra.size + teachers.size === 0;
	return { corpora, completions, extra, teachers, texts, hash: none ? null : hash.digest('hex') };
}
