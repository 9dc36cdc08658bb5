# Prints what zsh offers for a command line that is being written: zsh -f offered-by-zsh.zsh SCRIPT 'LINE'
# Completion works in an interactive shell with a terminal only, so one is started on a pseudo-terminal.
zmodload zsh/zpty || exit 3
script=$1 line=$2

zpty shell zsh -f -i
# Not echoed: what is read below is to hold nothing but what completion says.
zpty -w shell 'PROMPT= RPROMPT=; unsetopt zle_bracketed_paste; stty -echo'
zpty -w shell 'autoload -Uz compinit && compinit -u -D'
# Every match goes through compadd, in the end; calls that only fill arrays are let through.
zpty -w shell 'compadd() {
  if [[ ${argv[(i)-[OAD]]} -le ${argv[(i)-(-|)]} && ${argv[(i)-[OAD]]} -le $# ]]; then
    builtin compadd "$@"; return
  fi
  local -a found
  builtin compadd -A found "$@"
  local match
  for match in $found; do print -r -- "<offered>$match"; done
  builtin compadd "$@"
}'
zpty -w shell "source ${(q)script}"
# A widget of its own says when all of it is said.
zpty -w shell 'complete-and-tell() { zle list-choices; print -r -- "<over>"; }; zle -N complete-and-tell; bindkey "^I" complete-and-tell'
zpty -w shell 'print -r -- "<ready>"'
zpty -r shell before $'*\n<ready>*' || exit 3
zpty -w -n shell "$line"$'\t'
zpty -r shell said $'*<over>*' || exit 3
zpty -d shell
for entry in ${(f)said//$'\r'/}; do
  [[ $entry == *'<offered>'* ]] && print -r -- ${entry##*<offered>}
done
exit 0
