# frozen_string_literal: true

# Counts what was in flight when nodes crashed, to find the item that crashes one node after
# another. Pure: facts and time in. Only the work knows what the names mean.
#
#   suspects = CrashSuspects.new
#   charged = suspects.record_crash([["orders/0/17-42", 25]], 3, now, "SIGSEGV")   # 3: the slot
#   suspects.clear([["orders/0/17-42", 25]])   # it is done: nothing is wrong with it
#   suspects.learn(charged.map(&:to_plain))    # in a node, from the supervisor's message
#
# A crash with one item in flight proves more than a crash with several: both are counted. It keeps
# MOST items, those with most crashes. `forget_old` drops items whose last crash is more than
# SECONDS ago, and UNHANDLED for works that don't clear suspects themselves, such as a web server:
# not while they are in flight, as they may crash their process then. Other threads that read see
# all of a change or nothing of it.
module Skep
  class Swarm
    module IPC
      class CrashSuspects
        MOST = 256
        SECONDS = 3600.0
        UNHANDLED = 600.0
        ENDS = 5
        # Items whose crashes are cleared within SECONDS. With more of them, the items aren't the
        # cause, and the crashes count as a crash loop.
        CLEARED = 10
        private_constant :MOST, :SECONDS, :UNHANDLED, :ENDS, :CLEARED

        # in_flight: its name. current_item: the part that was last given out, if known. crashes:
        # while it was in flight. alone: those with nothing else in flight. ends: how the last nodes
        # ended. slots: of those nodes. time: of the last crash. handled: its work clears suspects.
        Suspect = Struct.new(:in_flight, :current_item, :crashes, :alone, :ends, :slots, :time,
                             :handled) do
          def key = [in_flight, current_item]
          def to_plain = to_h.transform_keys(&:to_s)
          def to_s = CrashSuspects.name(in_flight, current_item)
        end

        # "orders/0/17-42 at 25"
        def self.name(in_flight, item) = item ? "#{in_flight} at #{item}" : in_flight

        def initialize
          @all = {}.freeze
          @settled = []
        end

        def empty? = @all.empty?
        def to_a = @all.values
        def to_plain = to_a.map(&:to_plain)

        # Counts the crash of a node with these items in flight: each a name, and a part of it or
        # nil; how: it ended so. Returns those of this crash.
        def record_crash(held, slot, now, how, handled: true)
          charged = held.map { |key| once_more(key, slot, now, how, handled, alone: held.one?) }
          keep_most(@all.merge(by_key(charged)))
          charged
        end

        # in_flight: names of what is in flight now. Returns the keys of the items that it drops.
        def forget_old(now, in_flight)
          old = @all.each_value.select do |one|
            now - one.time > (one.handled ? SECONDS : UNHANDLED) &&
              !in_flight.include?(one.in_flight)
          end
          clear(old.map(&:key)).map(&:key)
        end

        # Forgets items. Returns those that it knew.
        def clear(keys)
          known = @all.values_at(*keys).compact
          @all = @all.except(*keys).freeze
          known
        end

        # Stops counting the crashes of these items, one of which caused them. Returns the slots of
        # those crashes, each as often as it crashed.
        def clear_crashes(keys, now)
          @settled.reject! { |time| now - time > SECONDS }
          known = @all.values_at(*keys).compact.select { |suspect| suspect.slots.any? }
          return [] if known.empty? || @settled.size >= CLEARED

          @settled << now
          learn(known.map { |suspect| { **suspect.to_plain, "slots" => [] } })
          known.flat_map(&:slots)
        end

        def learn(plain)
          keep_most(@all.merge(by_key(plain.map { |facts| Suspect.new(*facts.values_at(*FACTS)) })))
          self
        end

        FACTS = Suspect.members.map(&:to_s).freeze
        private_constant :FACTS

        def inspect = "#<#{self.class} #{to_a.map(&:to_s)}>"

        private

        def once_more(key, slot, now, how, handled, alone:)
          before = @all[key] || Suspect.new(*key, 0, 0, [], [], now)
          Suspect.new(*key, before.crashes + 1, before.alone + (alone ? 1 : 0),
                      [*before.ends, how].last(ENDS), [*before.slots, slot].last(ENDS), now,
                      handled)
        end

        def by_key(suspects) = suspects.to_h { |suspect| [suspect.key, suspect] }

        def keep_most(all)
          return @all = all.freeze if all.size <= MOST

          by_weight = all.sort_by { |_, suspect| [suspect.alone, suspect.crashes, suspect.time] }
          @all = by_weight.last(MOST).to_h.freeze
        end
      end
    end
  end
end
