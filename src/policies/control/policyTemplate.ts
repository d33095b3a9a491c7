import { basename, dirname } from 'node:path';
import * as v from 'valibot';
import { Failure } from '../../base/failure.ts';
import { resolveTemplate, type Template } from '../../core/text/template.ts';
import { readJson } from '../../files/safeFile.ts';
import { decode } from '../../protocol/decode.ts';
import { templateSchema } from '../../protocol/recipeKeys/recipe.ts';
import { runFiles } from '../../runs/runFiles.ts';

/** The only recipe fields read here. Recipes for other engines and versions also have a template. */
const recipeSchema = v.looseObject({
	name: v.optional(v.string()),
	template: v.optional(v.unknown()),
	environment: v.optional(v.unknown()),
});
const environmentSchema = v.looseObject({
	file: v.optional(v.string()),
	package: v.optional(v.string()),
	server: v.optional(v.string()),
});
const resolvedSchema = v.object({
	name: v.string(),
	prompt: v.string(),
	think: v.nullable(v.tuple([v.string(), v.string()])),
	answer: v.nullable(v.tuple([v.string(), v.string()])),
	call: v.optional(v.tuple([v.string(), v.string()])),
	result: v.optional(v.tuple([v.string(), v.string()])),
});

/** How a run's policy is prompted for a problem. */
export interface PolicyTemplate {
	/** Run name from the recipe, or null if unknown. */
	readonly run: string | null;
	/** null if the recipe has no template, in which case prompts are sent unchanged. */
	readonly template: Template | null;
	/** Name of the environment that the policy was trained in; absent if there is none. */
	readonly environment?: string;
}

/** Reads the template from a run's recipe. Runs without a readable recipe have no template. */
export async function readPolicyTemplate(run: string): Promise<PolicyTemplate> {
	const value = await readJson(run, runFiles.recipe).catch((error: unknown) => {
		const { reason } = Failure.from(error);
		if (reason === 'missing' || reason === 'corrupt' || reason === 'invalid') return {};
		throw error;
	});
	const recipe = decode(recipeSchema, value);
	if (!recipe.ok) return { run: null, template: null };
	const environment = decode(environmentSchema, recipe.value.environment);
	return {
		run: recipe.value.name ?? null,
		template: templateOf(recipe.value.template),
		...(environment.ok ? { environment: nameOf(environment.value) } : {}),
	};
}

function nameOf({ file, package: named, server }: v.InferOutput<typeof environmentSchema>): string {
	if (server !== undefined) return server;
	return basename(file ?? named ?? 'an environment');
}

function templateOf(value: unknown): Template | null {
	const resolved = decode(resolvedSchema, value);
	if (resolved.ok) return resolved.value;
	const given = decode(templateSchema, value);
	return given.ok ? resolveTemplate(given.value) : null;
}

/** Returns the run folder of a checkpoint folder `<run>/checkpoints/<step>`, or null if the checkpoint is elsewhere. */
export function runOfCheckpoint(folder: string): string | null {
	const parent = dirname(folder);
	return basename(parent) === runFiles.checkpoints ? dirname(parent) : null;
}
