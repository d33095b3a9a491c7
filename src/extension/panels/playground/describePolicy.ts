import { basename, dirname } from 'node:path';
import { resolvedRecipeSchema } from '../../../core/recipe/resolvedRecipe.ts';
import { readPolicyTemplate } from '../../../policies/control/policyTemplate.ts';
import { decode } from '../../../protocol/decode.ts';
import { type ChosenPolicy, longestQuestion } from '../../../protocol/playgroundMessages.ts';
import type { PolicySpec } from '../../../protocol/policySpec.ts';
import { readResolvedRecipe } from '../../../runs/runReader.ts';
import { displayText } from '../../runView.ts';

/** Returns the run a policy belongs to, or null if there is none. */
export function runOf(spec: PolicySpec): string | null {
	if (spec.kind === 'engine') return spec.run;
	return spec.kind === 'checkpoint' ? dirname(dirname(spec.folder)) : null;
}

/** Describes a policy without querying it. @param name display name in the editor's lists */
export async function describePolicy(spec: PolicySpec, name: string): Promise<ChosenPolicy> {
	const chosen: ChosenPolicy = {
		spec,
		name: displayText(name, 200),
		kind: kindOf(spec),
		template: null,
		system: null,
		temperature: null,
		maxTokens: null,
	};
	if (spec.kind === 'openai') {
		return spec.api === 'chat'
			? { ...chosen, system: (spec.system ?? '').slice(0, longestQuestion) }
			: { ...chosen, template: (spec.template ?? '{prompt}').slice(0, longestQuestion) };
	}
	const run = runOf(spec);
	if (run === null) return chosen;
	const [{ template }, sampling] = await Promise.all([readPolicyTemplate(run), samplingOf(run)]);
	return { ...chosen, template: (template?.prompt ?? '{prompt}').slice(0, longestQuestion), ...sampling };
}

/** Returns the sampling settings used in training, as specified by the recipe. */
async function samplingOf(run: string): Promise<Pick<ChosenPolicy, 'temperature' | 'maxTokens'>> {
	const recipe = decode(resolvedRecipeSchema, await readResolvedRecipe(run).catch(() => null));
	const stage = recipe.ok ? recipe.value.stages.findLast((one) => 'max_completion_length' in one) : undefined;
	const number = (key: string) => {
		const value = (stage as Record<string, unknown> | undefined)?.[key];
		return typeof value === 'number' && Number.isFinite(value) ? value : null;
	};
	return { temperature: number('temperature'), maxTokens: number('max_completion_length') };
}

function kindOf(spec: PolicySpec): string {
	switch (spec.kind) {
		case 'checkpoint':
			return 'checkpoint';
		case 'engine':
			return 'training now';
		case 'openai':
			return displayText(spec.model, 100);
		case 'scripted':
			return `script ${displayText(basename(spec.file), 100)}`;
	}
}
