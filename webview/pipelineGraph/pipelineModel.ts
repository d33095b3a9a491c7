import { Disposable } from '../../src/base/disposable.ts';
import { Emitter } from '../../src/base/event.ts';
import { type GraphNode, stageGraph } from '../../src/core/pipeline/stageGraph.ts';
import type { PipelineGraphEvent } from '../../src/protocol/pipelineGraphMessages.ts';
import type { SavedState } from './savedState.ts';

/** The pipeline as last received, and whether its rounds are collapsed. */
export class PipelineModel extends Disposable {
	readonly #changed = this.register(new Emitter<void>());
	#event: PipelineGraphEvent | null = null;
	#folder: string | null;
	#folded: boolean;
	readonly onChange = this.#changed.event;

	constructor(state: SavedState | undefined) {
		super();
		this.#folder = state?.folder ?? null;
		this.#folded = state?.folded ?? true;
	}

	/** null until the first message. */
	get event(): PipelineGraphEvent | null {
		return this.#event;
	}

	get folded(): boolean {
		return this.#folded;
	}

	/** Whether there are rounds to collapse. */
	get hasRounds(): boolean {
		return this.#event?.type === 'pipeline' && this.#event.stages.some(({ round }) => round !== null);
	}

	get nodes(): GraphNode[] {
		return this.#event?.type === 'pipeline' ? stageGraph(this.#event.stages, this.#folded) : [];
	}

	receive(event: PipelineGraphEvent): void {
		this.#event = event;
		this.#folder = event.folder;
		this.#changed.fire();
	}

	setFolded(folded: boolean): void {
		this.#folded = folded;
		this.#changed.fire();
	}

	/** null until the folder is known. */
	saved(): SavedState | null {
		return this.#folder === null ? null : { folder: this.#folder, folded: this.#folded };
	}
}
