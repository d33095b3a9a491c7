import * as v from 'valibot';
import { r1Tags, type TraceTags } from '../core/trace/trace.ts';
import { decode } from '../protocol/decode.ts';
import { ownFormat } from './annotationFolder.ts';
import { readResolvedRecipe } from './runReader.ts';

const tag = v.nullable(v.tuple([v.string(), v.string()]));
/** What of a resolved recipe is needed here: the rest may be of another version. */
const templateSchema = v.object({ template: v.object({ think: tag, answer: tag }) });

type Run = { readonly folder: string; readonly format: string };

/** The tags of a run's template; null: nothing says which it was, as in other trainers' runs. */
export async function templateTags(run: Run): Promise<TraceTags | null> {
	const value = run.format === ownFormat ? await readResolvedRecipe(run.folder).catch(() => undefined) : undefined;
	const recipe = decode(templateSchema, value);
	return recipe.ok ? recipe.value.template : null;
}

/** The tags of a run's template, or the usual ones where it is not known: to separate thinking from answer, not to judge. */
export async function runTags(run: Run): Promise<TraceTags> {
	return (await templateTags(run)) ?? r1Tags;
}
