import * as v from 'valibot';
import { type Hyperparameters, hyperparametersSchema } from '../protocol/control.ts';
import { decode } from '../protocol/decode.ts';
import { readEvents, readResolvedRecipe } from '../runs/runReader.ts';

const names = Object.keys(hyperparametersSchema.entries) as (keyof Hyperparameters)[];

const recipeSchema = v.looseObject({ stages: v.array(v.looseObject({ type: v.string() })) });
const changeSchema = v.looseObject({ type: v.literal('hyperparameters'), changes: v.record(v.string(), v.number()) });

/** Of stages that do not compute with all of them. */
const ofStage: Readonly<Record<string, readonly (keyof Hyperparameters)[]>> = {
	pretrain: ['learning_rate'],
	sft: ['learning_rate'],
	distill: ['learning_rate', 'temperature'],
	'rejection-sampling': ['temperature'],
	dpo: ['learning_rate', 'beta'],
	'reward-model': ['learning_rate'],
	'process-reward-model': ['learning_rate', 'temperature'],
	'value-model': ['learning_rate', 'temperature'],
};

/** What can be changed in a stage; a change is forgotten when it ends. @param stage null: not known, so all of them */
export function changeable(stage: string | null): readonly (keyof Hyperparameters)[] {
	return stage !== null && Object.hasOwn(ofStage, stage) ? (ofStage[stage] ?? names) : names;
}

/** What a run computes with now, as far as its recipe and its recorded changes tell. Unreadable files tell nothing. */
export async function currentHyperparameters(run: string, stage: string | null): Promise<Hyperparameters> {
	const current: Record<string, number> = {};
	const take = (values: Readonly<Record<string, unknown>>) => {
		for (const name of names) if (typeof values[name] === 'number') current[name] = values[name];
	};
	const recipe = decode(recipeSchema, await readResolvedRecipe(run).catch(() => null));
	if (recipe.ok) {
		const { stages } = recipe.value;
		take(stages.findLast((candidate) => candidate.type === stage) ?? stages.at(-1) ?? {});
	}
	for (const event of await readEvents(run).catch(() => [])) {
		const change = decode(changeSchema, event);
		if (change.ok) take(change.value.changes);
	}
	return current;
}
