import { Failure } from '../../base/failure.ts';
import type { FramePlace } from '../../files/frame.ts';
import { OpenedFile } from '../../files/openedFile.ts';
import type { PathMatch } from './diskFolder.ts';
import type { FoundFile } from './folderView.ts';
import type { ForeignRollout } from './foreignRecord.ts';
import type { RolloutFiles } from './runFormat.ts';
import { ZipFile } from './zipFile.ts';

/** Archives up to this size are read whole, because their rollouts contain more than the summaries. */
const minBytes = 64 << 20;
const largestList = 256 << 20;

/** One of a step's files. */
interface Archive {
	readonly files: RolloutFiles;
	readonly match: PathMatch;
	readonly found: FoundFile;
}

export interface Summarized {
	readonly place: FramePlace;
	readonly foreign: ForeignRollout;
}

/**
 * Returns the rollouts of a large archive in archive order, as described by its list of summaries, without reading the
 * rollouts themselves. Returns null if there is no such list, or if it does not describe all of them.
 */
export async function summariesOf(folder: string, { files, match, found }: Archive): Promise<Summarized[] | null> {
	const { summaries, members } = files;
	if (summaries === undefined || members === undefined || found.size < minBytes) return null;
	const file = await OpenedFile.open(folder, match.path).catch(() => null);
	if (file === null) return null;
	const archive = new ZipFile(file, members, largestList);
	try {
		const places = await archive.places();
		const list = await archive.member(summaries.member);
		if (places === null || !Array.isArray(list)) return null;
		const byMember = new Map<string, ForeignRollout>();
		for (const entry of list) {
			const summary = summaries.rollout(entry, match.path);
			if (summary !== null) byMember.set(summary.member, summary.rollout);
		}
		const summarized: Summarized[] = [];
		for (const [name, place] of places) {
			const foreign = byMember.get(name);
			if (foreign === undefined) return null;
			summarized.push({ place, foreign });
		}
		return summarized;
	} catch (error) {
		// The rollouts themselves may be readable.
		if (Failure.from(error).reason === 'cancelled') throw error;
		return null;
	} finally {
		await archive.close().catch(() => undefined);
	}
}
