# frozen_string_literal: true

# nohup(1) ignores HUP, a shell's `&` INT and QUIT: programs that tests start would ignore them too.
%w[HUP INT QUIT].each do |name|
  before = trap(name, "DEFAULT")
  trap(name, before) unless [nil, "IGNORE"].include?(before)
end
