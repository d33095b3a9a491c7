import { panelTypes } from '../../ids.ts';
import { PanelSet } from '../panelSet.ts';
import { EpisodePanel, type EpisodePanelNeeds, episodeTitle } from './episodePanel.ts';
import { type EpisodePlace, type OpenedEpisode, type RestoredPlace, restoredPlace } from './episodePlace.ts';

/** Creates the panel set for episode views, with one panel per environment file. */
export function episodePanels(
	needs: EpisodePanelNeeds,
): PanelSet<EpisodePanel, EpisodePlace | RestoredPlace, OpenedEpisode> {
	return new PanelSet<EpisodePanel, EpisodePlace | RestoredPlace, OpenedEpisode>(needs.extensionUri, {
		viewType: panelTypes.episode,
		what: 'this environment',
		key: ({ file }) => file,
		title: episodeTitle,
		create(panel, place, episode) {
			const started = 'started' in place ? place.started : { branches: [], show: null };
			const made = new EpisodePanel(panel, needs, place, started);
			if (episode !== undefined) made.record(episode);
			return made;
		},
		reopen(panel, _place, episode) {
			if (episode !== undefined) panel.record(episode);
		},
		restore: restoredPlace,
	});
}
