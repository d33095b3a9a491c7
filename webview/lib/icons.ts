/** Icon outlines on a 16 x 16 grid, drawn in the current text color. */
const outlines = {
	play: 'M4 2.5v11l9-5.5z',
	pause: 'M4 3h3v10H4zM9 3h3v10H9z',
	stop: 'M3.5 3.5h9v9h-9z',
	resume: 'M3 3h2v10H3zM6.5 2.5v11l8-5.5z',
	checkpoint: 'M2.5 2.5h9l2 2v9h-11zM4 3.5V7h6V3.5zM4.5 9v3.5h7V9z',
	rollouts: 'M2 3h5v10H2zM9 3h5v10H9zM3 4v8h3V4zM10 4v8h3V4z',
	sliders: 'M2 4h7.2a2 2 0 0 1 3.6 0H14v1h-1.2a2 2 0 0 1-3.6 0H2zM2 11h1.2a2 2 0 0 1 3.6 0H14v1H6.8a2 2 0 0 1-3.6 0H2z',
	log: 'M2 3h12v1.2H2zM2 6.2h9v1.2H2zM2 9.4h12v1.2H2zM2 12.6h7v1.2H2z',
	folder: 'M1.5 3h5l1.5 1.5h6.5v8.5h-13zM2.7 6v5.8h10.6V5.7H2.7z',
	reset: 'M8 3a5 5 0 1 1-4.9 6h1.2A3.8 3.8 0 1 0 8 4.2V6.5L4.5 3.6 8 .8z',
	table: 'M1.5 2.5h13v11h-13zM2.7 6.2v2.3h3.6V6.2zM7.5 6.2v2.3h5.8V6.2zM2.7 9.7v2.6h3.6V9.7zM7.5 9.7v2.6h5.8V9.7z',
	chart: 'M2 2h1.2v10.8H14V14H2zM4.5 10l3-4 2.4 2L13 3.6l1 .7-3.9 5.4-2.4-2-2.2 3z',
	image:
		'M1.5 2.5h13v11h-13zM2.7 3.7v8.6h10.6V3.7zM4 11l2.6-3.5 1.8 2 2-2.6L12.6 11zM5.2 4.8a1.1 1.1 0 1 1 0 2.2 1.1 1.1 0 0 1 0-2.2z',
	download: 'M7.4 2h1.2v6.2l2.3-2.3.9.9L8 10.6 4.2 6.8l.9-.9 2.3 2.3zM2.5 12.8h11V14h-11z',
	info: 'M8 1.5a6.5 6.5 0 1 1 0 13 6.5 6.5 0 0 1 0-13zm0 1.2a5.3 5.3 0 1 0 0 10.6A5.3 5.3 0 0 0 8 2.7zM7.4 7h1.2v4.5H7.4zM7.3 4.6h1.4V6H7.3z',
	close: 'M3.4 2.6 8 7.2l4.6-4.6.8.8L8.8 8l4.6 4.6-.8.8L8 8.8l-4.6 4.6-.8-.8L7.2 8 2.6 3.4z',
	warning: 'M8 1.5 15 14H1zM8 4 3.1 12.8h9.8zM7.4 6.8h1.2v3.4H7.4zM7.4 11h1.2v1.2H7.4z',
	error:
		'M8 1.5a6.5 6.5 0 1 1 0 13 6.5 6.5 0 0 1 0-13zM5.3 4.6l-.7.7L7.3 8l-2.7 2.7.7.7L8 8.7l2.7 2.7.7-.7L8.7 8l2.7-2.7-.7-.7L8 7.3z',
	check: 'M6.2 12.6 2 8.4l.9-.9 3.3 3.3 6.9-6.9.9.9z',
	clock:
		'M8 1.5a6.5 6.5 0 1 1 0 13 6.5 6.5 0 0 1 0-13zm0 1.2a5.3 5.3 0 1 0 0 10.6A5.3 5.3 0 0 0 8 2.7zM7.4 4.5h1.2v3.2l2.4 1.4-.6 1-3-1.7z',
	previous: 'M10.6 2.6 5.2 8l5.4 5.4-.9.9L3.4 8l6.3-6.3z',
	next: 'M5.4 2.6 10.8 8l-5.4 5.4.9.9L12.6 8 6.3 1.7z',
	copy: 'M2 2h8v2.5h4V14H6v-2.5H2zM3.2 3.2v7.1H6V4.5h2.8V3.2zM7.2 5.7v7.1h5.6V5.7z',
	expand: 'M2.6 5.4 8 10.8l5.4-5.4.9.9L8 12.6 1.7 6.3z',
	follow: 'M2 2.5v11l5.5-5.5zM8 2.5v11l5.5-5.5z',
	filter: 'M1.5 2.5h13L9.5 8.6V14L6.5 12V8.6zM4.1 3.7l3.6 4.4v3.3l.6.4V8.1l3.6-4.4z',
	braces:
		'M6.5 2v1.2H5.6c-.6 0-.9.3-.9.9v2c0 .9-.4 1.5-1.1 1.9.7.4 1.1 1 1.1 1.9v2c0 .6.3.9.9.9h.9V14H5.4c-1.2 0-1.9-.7-1.9-1.9v-2c0-1-.4-1.5-1.5-1.5V7.4c1.1 0 1.5-.5 1.5-1.5v-2C3.5 2.7 4.2 2 5.4 2zM9.5 2h1.1c1.2 0 1.9.7 1.9 1.9v2c0 1 .4 1.5 1.5 1.5v1.2c-1.1 0-1.5.5-1.5 1.5v2c0 1.2-.7 1.9-1.9 1.9H9.5v-1.2h.9c.6 0 .9-.3.9-.9v-2c0-.9.4-1.5 1.1-1.9-.7-.4-1.1-1-1.1-1.9v-2c0-.6-.3-.9-.9-.9h-.9z',
	open: 'M2.5 2.5H7v1.2H3.7v8.6h8.6V9h1.2v4.5h-11zM9 2.5h4.5V7h-1.2V4.6L7.9 9 7 8.1l4.4-4.4H9z',
	search:
		'M6.8 2a4.8 4.8 0 0 1 3.8 7.7l3.3 3.3-.9.9-3.3-3.3A4.8 4.8 0 1 1 6.8 2zm0 1.2a3.6 3.6 0 1 0 0 7.2 3.6 3.6 0 0 0 0-7.2z',
	help: 'M8 1.5a6.5 6.5 0 1 1 0 13 6.5 6.5 0 0 1 0-13zm0 1.2a5.3 5.3 0 1 0 0 10.6A5.3 5.3 0 0 0 8 2.7zM7.4 10.7h1.2v1.2H7.4zM8 4.2c1.4 0 2.4.8 2.4 2.1 0 .9-.5 1.4-1.1 1.9-.5.4-.7.6-.7 1.2v.4H7.4v-.5c0-1 .5-1.5 1.1-2 .5-.4.7-.6.7-1.1 0-.5-.5-.9-1.2-.9s-1.2.4-1.3 1.2l-1.2-.2C5.7 5 6.6 4.2 8 4.2z',
	compare:
		'M1.5 2.5h5.5v11H1.5zM2.7 3.7v8.6h3.1V3.7zM9 2.5h5.5v11H9zM10.2 3.7v1.4h3.1V3.7zM10.2 6.3v1.4h3.1V6.3zM10.2 8.9v3.4h3.1V8.9z',
	label:
		'M2 2h6.3l6.2 6.2-6.3 6.3L2 8.3zM3.2 3.2v4.6l5 5 4.6-4.6-5-5zM5.4 4.3a1.1 1.1 0 1 1 0 2.2 1.1 1.1 0 0 1 0-2.2z',
	continue: 'M2 3h1.2v10H2zM4.8 7.4h6.5L8.7 4.8l.9-.9L13.7 8l-4.1 4.1-.9-.9 2.6-2.6H4.8z',
	swap: 'M4.6 2.6 5.5 3.5 3.9 5.1H13v1.2H3.9l1.6 1.6-.9.9L1.5 5.7zM11.4 7.2l3.1 3.1-3.1 3.1-.9-.9 1.6-1.6H3V9.7h9.1l-1.6-1.6z',
	pin: 'M5.5 1.5h5v1.2l-.9.8.5 3.3 2.4 2v1.4H8.6V14L8 15.2 7.4 14v-3.8H3.5V8.8l2.4-2 .5-3.3-.9-.8z',
	log10: 'M2 2h1.2v10.8H14V14H2zM4.6 11.4C5 7 8 4.4 13.6 4v1.2C8.8 5.6 6.2 7.8 5.8 11.4z',
	plus: 'M7.4 2.5h1.2v4.9h4.9v1.2H8.6v4.9H7.4V8.6H2.5V7.4h4.9z',
	minus: 'M2.5 7.4h11v1.2h-11z',
	branch:
		'M4 2.2a1.6 1.6 0 0 1 .6 3.1v2.1h5.2V5.3a1.6 1.6 0 1 1 1.2 0v3.3H4.6v2.1a1.6 1.6 0 1 1-1.2 0V5.3A1.6 1.6 0 0 1 4 2.2z',
	fit: 'M2 2h4v1.2H3.2V6H2zM10 2h4v4h-1.2V3.2H10zM2 10h1.2v2.8H6V14H2zM12.8 10H14v4h-4v-1.2h2.8z',
} as const;

export type IconName = keyof typeof outlines;

const namespace = 'http://www.w3.org/2000/svg';

/** Creates a decorative icon; the control that contains it has the accessible name. */
export function icon(name: IconName): SVGSVGElement {
	const svg = document.createElementNS(namespace, 'svg');
	svg.setAttribute('viewBox', '0 0 16 16');
	svg.setAttribute('width', '16');
	svg.setAttribute('height', '16');
	svg.setAttribute('fill', 'currentColor');
	svg.setAttribute('fill-rule', 'evenodd');
	svg.setAttribute('aria-hidden', 'true');
	svg.setAttribute('class', 'icon');
	const path = document.createElementNS(namespace, 'path');
	path.setAttribute('d', outlines[name]);
	svg.append(path);
	return svg;
}
