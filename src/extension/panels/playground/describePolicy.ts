import { basename, dirname } from 'node:path';
import { resolvedRecipeSchema } from '../../../core/recipe/resolvedRecipe.ts';
import { readPolicyTemplate } from '../../../policies/control/policyTemplate.ts';
import { decode } from '../../../protocol/decode.ts';
import { type ChosenPolicy, longestQuestion } from '../../../protocol/playgroundMessages.ts';
import type { PolicySpec } from '../../../protocol/policySpec.ts';
import { readResolvedRecipe } from '../../../runs/runReader.ts';
import { displayText } from '../../runView.ts';

/** The run that a policy belongs to; null: to none. */
export function runOf(spec: PolicySpec): string | null {
	if (spec.kind === 'engine') return spec.run;
	return spec.kind === 'checkpoint' ? dirname(dirname(spec.folder)) : null;
}

/** What is known of a policy without asking it anything. @param name as the lists of the editor call it */
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

/** How the completions of its training were sampled, as far as its recipe says. */
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
