import * as v from 'valibot';
import { r1Tags, type TraceTags } from '../core/trace/trace.ts';
import { decode } from '../protocol/decode.ts';
import { ownFormat } from './annotationFolder.ts';
import { readResolvedRecipe } from './runReader.ts';

const tag = v.nullable(v.tuple([v.string(), v.string()]));
/** The part of a resolved recipe that is needed here; the rest can be from a different version. */
const templateSchema = v.object({ template: v.object({ think: tag, answer: tag }) });

type Run = { readonly folder: string; readonly format: string };

/** Returns the tags in a run's template, or null if unknown, as for other trainers' runs. */
export async function templateTags(run: Run): Promise<TraceTags | null> {
	const value = run.format === ownFormat ? await readResolvedRecipe(run.folder).catch(() => undefined) : undefined;
	const recipe = decode(templateSchema, value);
	return recipe.ok ? recipe.value.template : null;
}

/**
 * Returns the tags in a run's template, or the default tags if unknown. Suitable for separating thinking from answer,
 * but not for grading.
 */
export async function runTags(run: Run): Promise<TraceTags> {
	return (await templateTags(run)) ?? r1Tags;
}
