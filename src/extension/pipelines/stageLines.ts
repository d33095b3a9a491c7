import { findNodeAtLocation, getNodeValue, type Node, parseTree } from 'jsonc-parser';
import { dependenciesOf } from '../../core/pipeline/pipelineGraph.ts';
import type { NamedStage } from '../../protocol/recipeKeys/pipelineRecipe.ts';
import type { PipelineView, StageView } from '../../runs/pipeline/pipelineView.ts';
import { displayText } from '../runView.ts';
import { presentStage } from './pipelinePresentation.ts';

/** A named stage and its position in the recipe text. */
export interface StageLine {
	readonly name: string;
	/** 0-based first line of the stage. */
	readonly line: number;
	/** Dependencies, such as `after base and samples` or `before of-sft`; empty if there are none. */
	readonly words: string;
	/** State of the stage; null if it is not part of a known pipeline. */
	readonly stage: StageView | null;
	readonly state: string | null;
}

/** Returns the named stages in the parsable part of a recipe being edited; empty if its stages have no names. */
export function stageLines(text: string, pipeline: PipelineView | null): StageLine[] {
	const root = parseTree(text, [], { allowTrailingComma: true });
	const stages = root && findNodeAtLocation(root, ['stages']);
	if (stages?.type !== 'array') return [];
	const found = (stages.children ?? []).flatMap((node) => {
		const name = textOf(node, 'name');
		return name === null || textOf(node, 'type') === null ? [] : [{ name, node, after: takenBy(node) }];
	});
	return found.map(({ name, node, after }) => {
		const before = found.filter((other) => other.after.includes(name)).map((other) => other.name);
		const stage = pipeline?.stages.find((one) => one.name === name) ?? null;
		const words = [...listed('after', after), ...listed('before', before)].join(', ');
		return {
			...{ name, words, stage },
			line: text.slice(0, node.offset).split('\n').length - 1,
			state: stage === null ? null : stateOf(stage, pipeline),
		};
	});
}

function stateOf(stage: StageView, pipeline: PipelineView | null): string {
	const { icon, description, spoken } = presentStage(stage, pipeline === null ? {} : { pipeline });
	const quiet = stage.status === 'finished' || stage.status === 'running';
	return `$(${icon.id}) ${quiet ? `${spoken.split(', ')[1]} · ` : ''}${description}`;
}

function textOf(node: Node, key: string): string | null {
	const value = node.type === 'object' ? findNodeAtLocation(node, [key]) : undefined;
	return value?.type === 'string' ? String(value.value) : null;
}

/** Returns the names of the stages whose outputs a stage uses, without duplicates; empty if it cannot be parsed. */
function takenBy(node: Node): string[] {
	try {
		return dependenciesOf(getNodeValue(node) as NamedStage);
	} catch {
		return [];
	}
}

/** Maximum number of names listed; additional names are only counted. */
const maxNamed = 4;

function listed(word: string, names: readonly string[]): string[] {
	if (names.length === 0) return [];
	const shown = names.slice(0, maxNamed).map((name) => displayText(name, 40));
	const more = names.length - shown.length;
	const last = more > 0 ? [`${more} more`] : shown.splice(-1);
	return [`${word} ${shown.length === 0 ? last[0] : `${shown.join(', ')} and ${last[0]}`}`];
}
