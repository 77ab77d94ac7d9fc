"""One HTML file that holds a whole comparison and needs nothing else.

`page` puts it together from template.html, style.css, the scripts and the values; `payload` makes
the values, from a cell for each matcher and retriever (`cells`), the texts behind each question
(`questions`), and what results say of themselves (`described`). The browser draws:
script/described.js every described line and table, script/questions_table.js that of questions,
script/question.js an opened one, script/figures.js the figures; its own words stand in words.json.
"""
