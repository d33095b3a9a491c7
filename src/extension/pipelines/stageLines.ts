import { findNodeAtLocation, getNodeValue, type Node, parseTree } from 'jsonc-parser';
import { dependenciesOf } from '../../core/pipeline/pipelineGraph.ts';
import type { NamedStage } from '../../protocol/pipelineRecipe.ts';
import type { PipelineView, StageView } from '../../runs/pipeline/pipelineView.ts';
import { displayText } from '../runView.ts';
import { presentStage } from './pipelinePresentation.ts';

/** A stage with a name, where its recipe has it. */
export interface StageLine {
	readonly name: string;
	/** Of the stage's first line, from 0. */
	readonly line: number;
	/** `after base and samples`, `before of-sft`; empty: it waits for nobody, and nobody for it. */
	readonly words: string;
	/** Its state in a pipeline; null: in no known pipeline. */
	readonly stage: StageView | null;
	readonly state: string | null;
}

/** The stages of a recipe that is being written, as far as it can be read; none where they have no names. */
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

/** Names of the stages that one takes something of, each once; none while it cannot be read. */
function takenBy(node: Node): string[] {
	try {
		return dependenciesOf(getNodeValue(node) as NamedStage);
	} catch {
		return [];
	}
}

/** Names beyond these are counted. */
const maxNamed = 4;

function listed(word: string, names: readonly string[]): string[] {
	if (names.length === 0) return [];
	const shown = names.slice(0, maxNamed).map((name) => displayText(name, 40));
	const more = names.length - shown.length;
	const last = more > 0 ? [`${more} more`] : shown.splice(-1);
	return [`${word} ${shown.length === 0 ? last[0] : `${shown.join(', ')} and ${last[0]}`}`];
}
