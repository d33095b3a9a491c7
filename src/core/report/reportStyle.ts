/** Line colors for light and dark pages. */
export const light = ['#2563c4', '#b4470c', '#157a4a', '#8b3fb0', '#8a6a00', '#b02a54'];
export const dark = ['#7fb0ff', '#ff9d66', '#5fd39a', '#d59bff', '#e6c34d', '#ff8fb0'];

const colors = (list: readonly string[]) => list.map((color, i) => `--s${i}:${color};`).join('');
const series = light
	.map(
		(_, i) =>
			`.line.s${i}{stroke:var(--s${i})}.band.s${i},.dot.s${i}{fill:var(--s${i})}.key.s${i}{background:var(--s${i})}`,
	)
	.join('');

/** Report style sheet: light or dark according to the reader's preference, but always light in print. */
export const reportStyle = `
:root{color-scheme:light dark;--ink:#1c1f24;--soft:#59616d;--line:#d5dae1;--back:#fff;--panel:#f5f7f9;${colors(light)}}
@media (prefers-color-scheme:dark){:root{--ink:#e6e8eb;--soft:#a5adb8;--line:#3a414b;--back:#16191d;--panel:#1f2329;${colors(dark)}}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:72rem;padding:1.5rem;background:var(--back);color:var(--ink);font:15px/1.5 system-ui,sans-serif;overflow-wrap:anywhere}
h1{font-size:1.7rem;margin:0}
h2{font-size:1.3rem;margin:2.2rem 0 .6rem;border-bottom:1px solid var(--line);padding-bottom:.2rem}
h3{font-size:1.1rem;margin:1.6rem 0 .5rem}
h4,h5,h6{font-size:1rem;margin:1.2rem 0 .4rem}
header p,.note,caption,figcaption{color:var(--soft)}
header p{margin:.2rem 0}
nav ul{list-style:none;display:flex;flex-wrap:wrap;gap:.2rem 1rem;padding:0}
a{color:var(--s0)}
.wide{overflow-x:auto;margin:.6rem 0}
section section{display:flex;flex-wrap:wrap;align-items:flex-start;column-gap:2.5rem}
section section>*{flex:1 1 100%;min-width:0}
section section>.wide{flex:0 1 auto;max-width:100%}
section section>.charts{flex:1 1 22rem;margin:.6rem 0}
section section>.charts:has(figure+figure){flex-basis:100%}
table{border-collapse:collapse;font-variant-numeric:tabular-nums;overflow-wrap:break-word}
caption{text-align:left;padding:.2rem 0}
th,td{border-bottom:1px solid var(--line);padding:.25rem .8rem .25rem 0;text-align:left;vertical-align:top}
th{font-weight:600}
tbody th{font-weight:400}
.n{text-align:right}
.k{white-space:nowrap}
.l{min-width:12rem;overflow-wrap:anywhere}
th:first-child{position:sticky;left:0;background:var(--back)}
.facts th{color:var(--soft);white-space:nowrap}
.facts td{overflow-wrap:anywhere}
.charts{display:grid;grid-template-columns:repeat(auto-fill,minmax(20rem,1fr));gap:1rem}
figure{margin:0;background:var(--panel);border:1px solid var(--line);border-radius:6px;padding:.6rem}
figcaption{font-size:.9rem}
.chart{width:100%;height:auto;display:block}
.grid{stroke:var(--line);stroke-width:1}
.tick{fill:var(--soft);font:11px system-ui,sans-serif}
.line{fill:none;stroke-width:1.6;stroke-linejoin:round}
.band{opacity:.18;stroke:none}
${series}
.legend{list-style:none;display:flex;flex-wrap:wrap;gap:.1rem .9rem;margin:.3rem 0 0;padding:0;font-size:.85rem}
.key{display:inline-block;width:.8em;height:.8em;border-radius:2px;margin-right:.35em}
.text{margin:.6rem 0}
.name{margin:.4rem 0 .2rem;font-weight:600}
pre{margin:0;padding:.6rem .8rem;background:var(--panel);border:1px solid var(--line);border-radius:6px;white-space:pre-wrap;overflow:auto;max-height:28rem;contain:content;font:13px/1.45 ui-monospace,monospace;unicode-bidi:isolate}
details{margin:.6rem 0}
summary{cursor:pointer;font-weight:600}
@media print{
:root{--ink:#000;--soft:#444;--line:#bbb;--back:#fff;--panel:#fff;${colors(light)}}
body{max-width:none;padding:0;font-size:10.5pt}
nav{display:none}
pre{max-height:none;overflow:visible}
.wide{overflow:visible}
table{font-size:8.5pt}
.k{white-space:normal}
.l{min-width:0}
figure,tr{break-inside:avoid}
h2,h3,h4{break-after:avoid}
}
`;
