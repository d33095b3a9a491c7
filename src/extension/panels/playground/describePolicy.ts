import { basename, dirname } from 'node:path';
import type * as v from 'valibot';
import { environmentName } from '../../../core/episode/sameEnvironment.ts';
import { resolvedRecipeSchema } from '../../../core/recipe/resolvedRecipe.ts';
import { readPolicyTemplate } from '../../../policies/control/policyTemplate.ts';
import { decode } from '../../../protocol/decode.ts';
import { type ChosenPolicy, longestQuestion } from '../../../protocol/playgroundMessages.ts';
import type { PolicySpec } from '../../../protocol/policySpec.ts';
import { readResolvedRecipe } from '../../../runs/runReader.ts';
import { displayText } from '../../runView.ts';

type Recipe = v.InferOutput<typeof resolvedRecipeSchema>;

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
		environment: null,
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
	const [{ template }, recipe] = await Promise.all([
		readPolicyTemplate(run),
		readResolvedRecipe(run).catch(() => null),
	]);
	const decoded = decode(resolvedRecipeSchema, recipe);
	return {
		...chosen,
		template: (template?.prompt ?? '{prompt}').slice(0, longestQuestion),
		...(decoded.ok ? trainedFacts(decoded.value) : {}),
	};
}

/** Returns the sampling settings used in training, and the environment if the policy plays episodes as text. */
function trainedFacts({ stages, environment, engine }: Recipe): Partial<ChosenPolicy> {
	const stage = stages.findLast((one) => 'max_completion_length' in one);
	const number = (key: string) => {
		const value = (stage as Record<string, unknown> | undefined)?.[key];
		return typeof value === 'number' && Number.isFinite(value) ? value : null;
	};
	// PyTorch engine checkpoints cannot generate one turn at a time.
	const played = environment !== undefined && engine === 'embedded';
	return {
		environment: played ? displayText(environmentName(environment), 200) : null,
		temperature: number('temperature'),
		maxTokens: number('max_completion_length'),
	};
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
