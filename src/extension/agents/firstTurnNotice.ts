import { firstTurnNotes } from '../../policies/firstTurnNotes.ts';
import type { Notices } from '../notices.ts';

/**
 * Notifies the user, once per model and window, that a chat samples only the first turn of a policy trained on
 * episodes.
 */
export class FirstTurnNotice {
	readonly #notices: Pick<Notices, 'information'>;
	readonly #reported = new Set<string>();

	constructor(notices: Pick<Notices, 'information'>) {
		this.#notices = notices;
	}

	/**
	 * @param name display name of the model
	 * @param environment name of the environment that the policy was trained in
	 */
	report(name: string, environment: string | null | undefined): void {
		const [note] = firstTurnNotes(environment);
		if (note === undefined || this.#reported.has(name)) return;
		this.#reported.add(name);
		void this.#notices.information(`${name}: ${note}`);
	}
}
