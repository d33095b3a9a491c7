import { Failure } from '../../../base/failure.ts';
import { formatCounted, formatNumber } from '../../../base/format.ts';
import { environmentData } from '../../../episodes/environmentData.ts';
import type { Episode } from '../../../protocol/episode.ts';
import type { CommandHandlers } from '../../commandTable.ts';
import { verifiedRows } from '../../environments/environmentSession.ts';
import {
	type EnvironmentWorkbench,
	environmentArgument,
	steppedEnvironment,
} from '../../environments/environmentWorkbench.ts';
import { commandIds } from '../../ids.ts';
import type { LazyPanels } from '../../lazyPanels.ts';
import { showQuickPick } from '../../quickInput.ts';
import { displayText } from '../../runView.ts';
import type { EpisodePlace, OpenedEpisode } from './episodePlace.ts';
import { recordedEpisode } from './shownEpisode.ts';

export interface EpisodeCommandNeeds {
	readonly panels: LazyPanels<OpenedEpisode, EpisodePlace>;
	readonly environments: EnvironmentWorkbench;
}

type Ids = typeof commandIds.stepEnvironment | typeof commandIds.openEpisode;

/** *Step Through Environment* and *Open Episode of Verification*. */
export function episodeCommands({ panels, environments }: EpisodeCommandNeeds): CommandHandlers<Ids> {
	return {
		[commandIds.stepEnvironment]: async (given: unknown) => {
			const file = await steppedEnvironment(given);
			if (file !== null) await panels.open({ file, runFolder: null });
		},
		[commandIds.openEpisode]: async (given: unknown, asked: unknown) => {
			const file = environmentArgument(given);
			const found = await verifiedEpisode(file, environments, asked);
			if (found !== undefined) await panels.open({ file, runFolder: null }, found);
		},
	};
}

/** Lets the user select an episode of the latest verification, running it first if there is none. */
async function verifiedEpisode(
	file: string,
	{ verifications }: EnvironmentWorkbench,
	asked: unknown,
): Promise<OpenedEpisode | undefined> {
	const session = verifications.session(file);
	if (session.state.verification === null) await session.verify();
	const { verification, failure } = session.state;
	if (verification === null) throw failure ?? new Failure('missing', 'The environment has not been verified.');
	const episodes = [...verification.episodes].sort(failedFirst);
	const items = episodes.map((episode) => ({ ...itemOf(episode), episode }));
	const picked =
		items.find(({ episode }) => isAsked(episode, asked)) ??
		(await showQuickPick(items, { title: 'Open episode', placeHolder: 'Select an episode from the verification' }));
	if (picked === undefined) return undefined;
	const { episode } = picked;
	const rows = (await environmentData({ file, ...verifiedRows })).rows.filter(({ row }) => row === episode.row);
	const [row] = rows;
	// Rows sampled from very large files have no numbers, so several rows may match.
	if (row === undefined || rows.length > 1) {
		throw new Failure(
			'missing',
			`Row ${episode.row + 1} is no longer in the dataset.`,
			'Verify the environment again.',
		);
	}
	return recordedEpisode(episode, row.columns, verification.environment.ownsReward);
}

/** The caller can specify the episode: `{row, policy}`. */
function isAsked({ row, policy }: Episode, asked: unknown): boolean {
	if (typeof asked !== 'object' || asked === null) return false;
	const wanted = asked as { readonly row?: unknown; readonly policy?: unknown };
	return wanted.row === row && wanted.policy === policy;
}

const failedFirst = (a: Episode, b: Episode) => Number(b.error !== undefined) - Number(a.error !== undefined);

function itemOf({ policy, row, turns, reward, error }: Episode): {
	label: string;
	description: string;
	detail?: string;
} {
	const outcome = error !== undefined ? 'failed' : reward === null ? 'no reward' : `reward ${formatNumber(reward)}`;
	return {
		label: `Row ${row + 1}, ${policy}`,
		description: `${formatCounted(turns.length, 'turn')}, ${outcome}`,
		...(error === undefined ? {} : { detail: displayText(error.message, 200) }),
	};
}
