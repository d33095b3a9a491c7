import { basename, dirname } from 'node:path';
import * as v from 'valibot';
import { Failure } from '../../base/failure.ts';
import { resolveTemplate, type Template } from '../../core/text/template.ts';
import { readJson } from '../../files/safeFile.ts';
import { decode } from '../../protocol/decode.ts';
import { templateSchema } from '../../protocol/recipe.ts';
import { runFiles } from '../../runs/runFiles.ts';

/** Of a recipe only this is read: those of other engines and versions have a template, too. */
const recipeSchema = v.looseObject({ name: v.optional(v.string()), template: v.optional(v.unknown()) });
const resolvedSchema = v.object({
	name: v.string(),
	prompt: v.string(),
	think: v.nullable(v.tuple([v.string(), v.string()])),
	answer: v.nullable(v.tuple([v.string(), v.string()])),
});

/** What a run's policy is given for a problem. */
export interface PolicyTemplate {
	/** Of the run, as its recipe says; null: it is not known. */
	readonly run: string | null;
	/** null: its recipe tells of none, so prompts go as they are. */
	readonly template: Template | null;
}

/** The template of a run's recipe. A run without a recipe that can be read has none. */
export async function readPolicyTemplate(run: string): Promise<PolicyTemplate> {
	const value = await readJson(run, runFiles.recipe).catch((error: unknown) => {
		const { reason } = Failure.from(error);
		if (reason === 'missing' || reason === 'corrupt' || reason === 'invalid') return {};
		throw error;
	});
	const recipe = decode(recipeSchema, value);
	if (!recipe.ok) return { run: null, template: null };
	return { run: recipe.value.name ?? null, template: templateOf(recipe.value.template) };
}

function templateOf(value: unknown): Template | null {
	const resolved = decode(resolvedSchema, value);
	if (resolved.ok) return resolved.value;
	const given = decode(templateSchema, value);
	return given.ok ? resolveTemplate(given.value) : null;
}

/** The run folder of a checkpoint folder `<run>/checkpoints/<step>`; null: it is elsewhere. */
export function runOfCheckpoint(folder: string): string | null {
	const parent = dirname(folder);
	return basename(parent) === runFiles.checkpoints ? dirname(parent) : null;
}
